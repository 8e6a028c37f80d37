"""Neural dependency models, harmonic start and counts of given trees against the released program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from induce.data.batches import SentenceBatch
from induce.decoding.heads import mbr_heads
from induce.models.base import Query
from induce.models.dependency.ndmv_factorized import NdmvJoint, NdmvJointConfig, NdmvSibling, NdmvSiblingConfig
from induce.models.dependency.neural_dmv import Ndmv, NdmvConfig, NeuralDmv
from induce.models.dependency.outward_sums import RuleScores, harmonic_rules, log_total, tree_arcs, used_rules
from induce.structures import HeadDistribution, Heads
from tests.support.reference import Fixture, fixtures, load

#: names of our layers -> names of the original program
FIRST_ORDER = {
    "embedding": "pos_emb",
    "direction": "val_emb",
    "root_vector": "root_emb",
    "has_child": "shared_linear_left",
    "no_child": "shared_linear_right",
    "child": "child_linear",
    "child_output": "child_out_linear",
    "decision": "decision_linear",
    "decision_output": "decision_out_linear",
    "root": "root_linear",
}
FACTORIZED = {
    "embedding": "pos_emb",
    "class_embedding": "pos_emb",
    "word_embedding": "word_emb",
    "root_vector": "root_emb",
    "decision_vectors": "decision_emb",
    "attach_factors": "attach_scorer",
    "decision_factors": "decision_scorer",
    "root_factors": "root_scorer",
    "parent": "parent_linear",
    "sibling": "sibling_linear",
    "child": "child_linear",
    "root": "root_linear",
    "decision": "decision_linear",
}
ENCODER = {
    "no_child": "NOCHILD_linear",
    "has_child": "HASCHILD_linear",
    "valence": "valence_linear",
    "left": "LEFT_linear",
    "right": "RIGHT_linear",
    "direction": "direction_linear",
    "inner": "linear1",
    "outer": "linear2",
}
MODELS = {"rules": "", "lexical": "model1.", "sibling": "model2."}


def original_name(name: str) -> str:
    """Name of a parameter in the released program."""
    model, _, rest = name.partition(".")
    if model not in MODELS or rest in ("weight", "bias"):
        first, _, last = name.partition(".")
        return ".".join(filter(None, (FIRST_ORDER[first], last)))
    part, _, last = rest.partition(".")
    if part == "encoder":
        layer, _, last = last.partition(".")
        return f"{MODELS[model]}encoder.{ENCODER[layer]}.{last}"
    if last.startswith("maps."):
        _, index, kind = last.split(".")
        last = f"project{int(index) + 1}.{kind}"
    return MODELS[model] + ".".join(filter(None, (FACTORIZED[part], last)))


def model_of(fixture: Fixture) -> NeuralDmv:
    """The model with the weights of the fixture."""
    sizes: dict[str, Any] = fixture.sizes
    model: NeuralDmv
    if "model1" in sizes:
        first, second = sizes["model1"], sizes["model2"]
        ranks = {f"word_{key}": first[key] for key in ("attach_rank", "decision_rank", "root_rank")}
        config = NdmvJointConfig(
            classes=sizes["tags"] - 1, class_size=first["tag_emb"], word_size=first["word_emb"], **ranks,
            hidden_size=second["hidden"], attach_rank=second["attach_rank"], decision_rank=second["decision_rank"],
            root_rank=second["root_rank"], head_dropout=0.0,
        )  # fmt: skip
        model = NdmvJoint(config, sizes["word_types"])
        model.classes.copy_(fixture.tensor("input/tag_of_type"))
    elif "attach_rank" in sizes:
        ranks = {key: sizes[key] for key in ("attach_rank", "decision_rank", "root_rank")}
        model = NdmvSibling(NdmvSiblingConfig(classes=0, hidden_size=sizes["hidden"], **ranks), sizes["tags"])
    else:
        config_of_first = NdmvConfig(
            classes=0, embedding_size=sizes["tag_emb"], hidden_size=sizes["hidden"], child_size=sizes["pre_child"],
            decision_size=sizes["pre_decision"],
        )  # fmt: skip
        model = Ndmv(config_of_first, sizes["tags"])
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(fixture.tensor(f"weight/{original_name(name)}"))
    return model


def check_scores(fixture: Fixture, scores: RuleScores, prefix: str = "") -> None:
    """Compare scores with the fixture, where the head is not the dependent and no word or sibling is padding."""
    attach, decision, root = (table.detach().clone() for table in scores)
    expected = {name: fixture.arrays[prefix + name] for name in ("attach", "decision", "root")}
    for row, length in enumerate(fixture.arrays["input/lengths"].tolist()):
        for word in range(length):
            attach[row, word, word] = torch.tensor(expected["attach"][row, word, word].reshape(attach.shape[3:]))
        siblings = length + 1 if attach.shape[3] > 1 else 1
        actual = attach[row, :length, :length, :siblings], decision[row, :length, :siblings], root[row, :length]
        expected_tables = (
            expected["attach"][row].reshape(attach.shape[1:])[:length, :length, :siblings],
            expected["decision"][row].reshape(decision.shape[1:])[:length, :siblings],
            expected["root"][row, :length],
        )
        for got, want in zip(actual, expected_tables, strict=True):
            np.testing.assert_allclose(got.numpy(), want, **fixture.tolerance)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("name", fixtures("ndmv"))
def test_neural_dmv(name: str) -> None:
    fixture = load(name)
    model = model_of(fixture)
    lengths = fixture.tensor("input/lengths")
    tokens = fixture.tensor("input/words" if "input/words" in fixture.arrays else "input/tags")
    scores = model.scores(tokens)
    check_scores(fixture, scores)
    if isinstance(model, NdmvJoint):
        check_scores(fixture, model.lexical(tokens, model.classes), "model1/")
    batch = SentenceBatch(tokens, lengths)
    fixture.check("logpartition", log_total(scores, lengths))
    loss = model.loss(batch).objective
    fixture.check("loss", loss)
    loss.backward()
    gradients = {original_name(key): parameter for key, parameter in model.named_parameters()}
    fixture.check_gradients("grad", gradients)
    model.eval()
    with torch.inference_mode():
        trees = tree_arcs(model.scores(tokens), lengths)
        marginal = nn.functional.pad(trees.arcs, (1, 0, 1, 0))
        marginal[:, 0, 1:] = trees.root
        fixture.check("arc_marginal", marginal)
        fixture.check("viterbi_score", log_total(model.scores(tokens), lengths, best=True))
        distribution = model.structure(batch, Query(HeadDistribution))
        heads = model.structure(batch, Query(Heads))
    assert [[head + 1 for head in row] for row in heads.rows()] == fixture.doc["expected"]["viterbi_heads"]
    mbr = [[head + 1 for head in mbr_heads(row)] for row in distribution.rows()]
    assert mbr == fixture.doc["expected"]["mbr_heads"]


@pytest.mark.parametrize("name", fixtures("dmv_km_init"))
def test_harmonic_start_and_counts_of_initial_trees(name: str) -> None:
    fixture = load(name)
    sentences = [fixture.arrays[f"input/sentence{index}"] for index in range(fixture.sizes["sentences"])]
    rules = harmonic_rules(sentences, fixture.sizes["tags"], smoothing=fixture.sizes["smoothing"])
    fixture.check_all(rules._asdict())
    trees = sorted(key.split("/")[0] for key in fixture.arrays if key.endswith("/heads"))
    assert trees
    for tree in trees:
        heads = fixture.arrays[f"{tree}/heads"] - 1
        count = len(heads)
        for siblings, suffix in ((False, ""), (True, "_sibling")):
            used = used_rules([heads], siblings=siblings, released=True)
            shape = (count + 1,) if siblings else (1,)
            tables = np.zeros((1, count, count, *shape, 2)), np.zeros((1, count, *shape, 2, 2, 2)), np.zeros((1, count))
            for table, index in zip(tables, used, strict=True):
                np.add.at(table, tuple(index.T), 1)
            attach, decision, root = tables
            for key, table in ((f"attach{suffix}", attach), (f"decision{suffix}", decision), ("root", root)):
                expected = fixture.arrays[f"{tree}/{key}"]
                fixture.check(f"{tree}/{key}", table.reshape(expected.shape))
