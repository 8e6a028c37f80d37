"""DIORA and S-DIORA compute what the released programs compute: charts, losses, every gradient, trees, samples."""

from __future__ import annotations

import string
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from induce.data.batches import SentenceBatch, batches_of_equal_length
from induce.decoding.chart import split_tree
from induce.models.autoencoders.autoencoder import ChartAutoencoder, SpanVectors
from induce.models.autoencoders.diora import Diora, DioraConfig, sampling_distribution
from induce.models.autoencoders.sdiora import SDiora, SDioraConfig, best_trees, tree_losses
from induce.models.base import Query
from induce.structures import Brackets
from tests.support.reference import Fixture, fixtures, load, without_labels
from treebank.core.tree import Tree

pytestmark = pytest.mark.usefixtures("double")


def model_of(fixture: Fixture) -> Diora:
    """The model of a fixture, with its weights."""
    sizes = fixture.sizes
    config = DioraConfig(
        embedding_size=sizes["input_size"],
        hidden_size=sizes["size"],
        composition={"treelstm": "tree-lstm"}.get(sizes["arch"], sizes["arch"]),
        objective=sizes["reconstruct_mode"],
        negatives=sizes["k_neg"],
        normalization=sizes["normalize"],
        root="inside" if sizes["compress"] else "learned",
    )
    model = Diora(config, sizes["vocab"])
    copy_weights(model, fixture, buffer="word_distribution")
    return model


def selective_model_of(fixture: Fixture) -> SDiora:
    """The S-DIORA of a fixture, with its weights."""
    sizes = fixture.sizes
    config = SDioraConfig(embedding_size=sizes["input_size"], hidden_size=sizes["size"], beam=sizes["beam"])
    model = SDiora(config, sizes["vocab"])
    copy_weights(model, fixture, buffer="is_predicted")
    model.is_predicted.zero_()
    model.is_predicted[sizes["output_vocab"]] = True
    return model


def copy_weights(model: ChartAutoencoder, fixture: Fixture, *, buffer: str) -> None:
    """Copy the weights of a fixture, which must be all of the model's except ``buffer``."""
    weights = arrays_of(model, lambda name: fixture.tensor(f"weight/{name}"))
    assert weights.keys() == model.state_dict().keys() - {buffer}
    model.load_state_dict(weights, strict=False)


def check_gradients(model: ChartAutoencoder, fixture: Fixture) -> None:
    """Compare the gradients of all weights."""
    for parameter, gradient in arrays_of(model, lambda name: fixture.tensor(f"grad/{name}")).items():
        actual = model.get_parameter(parameter).grad
        torch.testing.assert_close(actual, gradient, **fixture.tolerance, msg=parameter)


def arrays_of(model: ChartAutoencoder, original: Callable[[str], Tensor]) -> dict[str, Tensor]:
    """Name of each parameter, and its array made from the arrays under their original names."""
    lstm, selective = model.lstm, isinstance(model, SDiora)
    softmax = "reconstruct_softmax_v2_loss" if selective else "reconstruct_softmax_loss"
    loss = softmax if selective or model.config.objective == "softmax" else "reconstruct_loss"
    leaf = "diora.inside_compose_func." + ("W" if lstm else "V")
    arrays = {
        "embedding.weight": original("embed.embeddings.weight"),
        "projection.weight": original("embed.mat"),
        "candidates.weight": original(f"{loss}.mat"),
        "leaf.weight": original(leaf) if lstm else original(leaf).t(),
    }
    root = [original(f"diora.root_vector_out_{part}") for part in "hc"[model.root_projection is not None : 1 + lstm]]
    if root:
        arrays["root"] = torch.cat(root)
    if model.root_projection is not None:
        arrays["root_projection.weight"] = original("diora.root_mat_out").t()
    for name in ("inside",) if model.outside is None else ("inside", "outside"):
        function = f"diora.{name}_compose_func"
        matrix = original(f"{function}.U") if lstm else original(f"{function}.{'W' if selective else 'W_0'}").t()
        arrays[f"{name}.first.weight"], arrays[f"{name}.second.weight"] = matrix.chunk(2, 1)
        arrays[f"{name}.second.bias"] = original(f"{function}.B")
        arrays[f"{name}.score.weight"] = original(f"diora.{name}_score_func.mat").t()
        if not lstm:
            arrays[f"{name}.output.weight"] = original(f"{function}.W_1").t()
            arrays[f"{name}.output.bias"] = original(f"{function}.B_1")
    return arrays


def check_chart(fixture: Fixture, name: str, chart: SpanVectors, batch: int) -> None:
    """Compare cells and scores, which the fixture lists by width and then by start."""
    widths, size = sorted(chart.cells), fixture.sizes["size"]
    cells, scores = (
        torch.cat([table[width].unflatten(0, (-1, batch)) for width in widths]).transpose(0, 1)
        for table in (chart.cells, chart.scores)
    )
    fixture.check(f"{name}_h", cells[..., :size])
    fixture.check(f"{name}_s", scores[..., None] if scores.dim() == 2 else scores)
    if f"{name}_c" in fixture.arrays:
        fixture.check(f"{name}_c", cells[..., size:])


def parents_of_pairs(words: int, width: int) -> np.ndarray:
    """Index of the parent's cell in the order of the fixtures, for each pair (K, L) of `Diora.outside_chart`."""
    first = np.cumsum([0, *range(words, 0, -1)])  # first cell of each width, from 1
    count = words - width
    parents = np.zeros((count, count + 1), dtype=int)
    for k, start in np.ndindex(*parents.shape):
        if start < count - k:
            parents[k, start] = first[width + k] + start
        else:
            parents[k, start] = first[width + count - k - 1] + start - (count - k)
    return parents


def check_pairs(fixture: Fixture, chart: SpanVectors, batch: int) -> None:
    """Compare the scores of the pairs (B, K, L) of each span, which are sorted by the parent on both sides."""
    words = len(chart.cells)
    for width, scores in chart.pairs.items():
        order = np.argsort(fixture.arrays[f"outside_parent/{width - 1}"], axis=0)
        expected = np.take_along_axis(fixture.arrays[f"outside_pair/{width - 1}"], order[None], axis=1)
        model_order = np.argsort(parents_of_pairs(words, width), axis=0)
        pairs = scores.detach().unflatten(1, (-1, batch)).permute(2, 0, 1).numpy()
        pairs = np.take_along_axis(pairs, model_order[None], axis=1)
        np.testing.assert_allclose(pairs, expected, **fixture.tolerance)


def models() -> list[object]:
    """Fixtures of whole models."""
    skipped = {"diora_cky", "diora_batching"}
    return [item for item in fixtures("diora_") if not skipped.intersection(map(str, item.values))]


@pytest.mark.parametrize("name", models())
def test_charts_loss_gradients_and_trees(name: str) -> None:
    fixture = load(name)
    model, tokens = model_of(fixture), fixture.tensor("sentences")
    batch, words = tokens.shape
    inside = model.inside_chart(tokens)
    outside = model.outside_chart(inside, batch)
    check_chart(fixture, "inside", inside, batch)
    check_chart(fixture, "outside", outside, batch)
    for width, scores in inside.pairs.items():
        fixture.check(f"inside_split/{width - 1}", scores.unflatten(1, (-1, batch)).permute(2, 1, 0))
    check_pairs(fixture, outside, batch)

    negatives = fixture.tensor("neg_samples")
    scores = model.candidate_scores(outside.cells[1], tokens, negatives)
    fixture.check("score", scores.unflatten(0, (words, batch)).transpose(0, 1).flatten(0, 1))
    loss = model.word_loss(outside.cells[1], tokens, negatives)
    fixture.check("loss", loss)
    loss.backward()
    check_gradients(model, fixture)

    sentences = SentenceBatch(tokens, torch.full((batch,), words))
    rows = model.structure(sentences, Query(Brackets)).rows()
    forms = tuple(map(str, range(words)))
    assert [without_labels(Tree.from_spans(forms, row)) for row in rows] == fixture.doc["expected"]["trees"]


@pytest.mark.parametrize("name", fixtures("diora_cky"))
def test_best_splits(name: str) -> None:
    fixture = load(name)
    expected = fixture.doc["expected"]["trees"]
    for scores, count, tree in zip(fixture.arrays["scores"], fixture.arrays["length"].tolist(), expected, strict=True):
        widths, start = [], 0
        for width in range(2, count + 1):
            number = (count - width + 1) * (width - 1)
            widths.append(scores[start : start + number].reshape(-1, width - 1))
            start += number
        forms = tuple(string.ascii_lowercase[:count])
        expected_tree = tree if count > 1 else f"({tree})"
        assert without_labels(Tree.from_spans(forms, split_tree(widths))) == expected_tree


@pytest.mark.parametrize("name", fixtures("diora_batching"))
def test_sampled_words_and_batches(name: str) -> None:
    """Incomplete batches are kept, as in the program's evaluation."""
    fixture = load(name)
    sentences, sizes = fixture.arrays["sentences"], fixture.sizes
    counts = np.bincount(sentences[sentences >= 0], minlength=sizes["vocab"])
    fixture.check("frequency", counts)
    fixture.check("distribution", sampling_distribution(counts))
    lengths = (sentences >= 0).sum(1)
    batches: dict[str, list[int]] = {}
    short = lengths[lengths <= sizes["maxlen"]]
    for rows, length in batches_of_equal_length(short, lambda _: sizes["batch_size"]):
        batches.setdefault(str(length), []).append(len(rows))
    assert batches == fixture.doc["expected"]["batch_sizes"]["partial true"]


@pytest.mark.parametrize("name", fixtures("sdiora_"))
def test_selective_charts_loss_gradients_and_trees(name: str) -> None:
    fixture = load(name)
    model, tokens = selective_model_of(fixture), fixture.tensor("sentences")
    batch, words = tokens.shape
    inside = model.inside_chart(tokens)
    outside = model.outside_chart(inside, batch)
    check_chart(fixture, "inside", inside, batch)
    check_chart(fixture, "outside", outside, batch)

    predicted = model.is_predicted[tokens].sum()
    of_words = model.word_losses(outside.cells[1][:, 0], tokens).sum() / predicted
    of_trees = tree_losses(inside.scores[words]).mean()
    fixture.check("loss_words", of_words)
    fixture.check("loss_tree", of_trees)
    fixture.check("loss", of_words + of_trees)
    (of_words + of_trees).backward()
    check_gradients(model, fixture)

    forms = tuple(map(str, range(words)))
    trees = [
        [without_labels(Tree.from_spans(forms, tree)) for _, tree in ranked] for ranked in best_trees(inside, batch)
    ]
    assert trees == fixture.doc["expected"]["trees"]
