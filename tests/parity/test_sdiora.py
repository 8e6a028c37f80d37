"""S-DIORA computes what the released program computes: charts, losses, every gradient, the best trees."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from induce.models.autoencoders.autoencoder import SpanVectors
from induce.models.autoencoders.sdiora import SDiora, SDioraConfig, best_trees, tree_losses
from tests.support.reference import Fixture, fixtures, load, without_labels
from treebank.core.tree import Tree

pytestmark = pytest.mark.usefixtures("double")


def model_of(fixture: Fixture) -> SDiora:
    """The model of a fixture, with its weights."""
    sizes = fixture.sizes
    config = SDioraConfig(embedding_size=sizes["input_size"], hidden_size=sizes["size"], beam=sizes["beam"])
    model = SDiora(config, sizes["vocab"])
    weights = arrays_of(lambda name: fixture.tensor(f"weight/{name}"))
    assert weights.keys() == model.state_dict().keys() - {"is_predicted"}
    model.load_state_dict(weights, strict=False)
    model.is_predicted.zero_()
    model.is_predicted[sizes["output_vocab"]] = True
    return model


def arrays_of(original: Callable[[str], Tensor]) -> dict[str, Tensor]:
    """Name of each parameter, and its array made from the arrays under their original names."""
    arrays = {
        "embedding.weight": original("embed.embeddings.weight"),
        "projection.weight": original("embed.mat"),
        "candidates.weight": original("reconstruct_softmax_v2_loss.mat"),
        "leaf.weight": original("diora.inside_compose_func.V").t(),
        "root": original("diora.root_vector_out_h"),
    }
    for name in ("inside", "outside"):
        function = f"diora.{name}_compose_func"
        arrays[f"{name}.first.weight"], arrays[f"{name}.second.weight"] = original(f"{function}.W").t().chunk(2, 1)
        arrays[f"{name}.second.bias"] = original(f"{function}.B")
        arrays[f"{name}.score.weight"] = original(f"diora.{name}_score_func.mat").t()
        arrays[f"{name}.output.weight"] = original(f"{function}.W_1").t()
        arrays[f"{name}.output.bias"] = original(f"{function}.B_1")
    return arrays


def check_chart(fixture: Fixture, name: str, chart: SpanVectors, batch: int) -> None:
    """Compare vectors and scores, which the fixture lists by width and then by start."""
    widths = sorted(chart.cells)
    for part, tables in (("h", chart.cells), ("s", chart.scores)):
        cells = torch.cat([tables[width].unflatten(0, (-1, batch)) for width in widths])
        fixture.check(f"{name}_{part}", cells.transpose(0, 1))


@pytest.mark.parametrize("name", fixtures("sdiora_"))
def test_charts_loss_gradients_and_trees(name: str) -> None:
    fixture = load(name)
    model, tokens = model_of(fixture), fixture.tensor("sentences")
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
    for parameter, gradient in arrays_of(lambda name: fixture.tensor(f"grad/{name}")).items():
        actual = model.get_parameter(parameter).grad
        torch.testing.assert_close(actual, gradient, **fixture.tolerance, msg=parameter)

    forms = tuple(map(str, range(words)))
    trees = [
        [without_labels(Tree.from_spans(forms, tree)) for _, tree in ranked] for ranked in best_trees(inside, batch)
    ]
    assert trees == fixture.doc["expected"]["trees"]
