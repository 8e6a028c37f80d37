"""URNNG and RNNG against the released program, and probabilities of words and sentences against all trees."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import pytest
import torch
from torch import Tensor

from induce.data.batches import FragmentBatch, SentenceBatch
from induce.layers.tree_crf import TreeCrf
from induce.models.base import bounded
from induce.models.language.rnng import (
    Rnng,
    RnngConfig,
    Urnng,
    UrnngConfig,
    binary_trees,
    closings_of,
    importance_bound,
    with_end,
)
from tests.support.binary_trees import all_trees, table
from tests.support.reference import Fixture, fixtures, load

pytestmark = pytest.mark.usefixtures("double")

OTHERS = {
    "embedding.weight": "emb.weight",
    "decoder_bias": "vocab_mlp.1.bias",
    "stack.composition": "tree_rnn.linear",
    "action": "action_mlp_p.1",
    "inference.position.weight": "q_pos_emb.weight",
    "inference.hidden": "q_binary.0",
    "inference.norm": "q_binary.2",
    "inference.score": "q_binary.4",
}


def original_name(name: str) -> str:
    """Name of a weight in the released program."""
    if name in OTHERS:
        return OTHERS[name]
    head, _, last = name.rpartition(".")
    if head.startswith("stack.layers"):
        return f"stack_rnn.linears.{head.rpartition('.')[2]}.{last}"
    return f"q_leaf_rnn.{last}" if head == "inference.lstm" else f"{OTHERS[head]}.{last}"


def model_of(fixture: Fixture) -> Urnng:
    """The model of a fixture with its weights. Weights that the fixture does not have are random."""
    sizes = fixture.sizes
    config = UrnngConfig(
        embedding_size=sizes["w_dim"],
        layers=sizes.get("num_layers", 1),
        inference_size=sizes.get("q_dim", 3),
        dropout=0.0,
        samples=max(2, sizes.get("samples", 2)),
    )
    model = Urnng(config, sizes["vocab"])
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if (key := "weight/" + original_name(name)) in fixture.arrays:
                value = fixture.tensor(key)
                parameter[: len(value)] = value  # a fixture has fewer positions
    return model


def check_gradients(model: Urnng, fixture: Fixture) -> None:
    """Compare every gradient with the fixture's. All of them must be used."""
    used = {"grad/vocab_mlp.1.weight"}  # tied to emb.weight
    for name, parameter in model.named_parameters():
        key = "grad/" + original_name(name)
        if key in fixture.arrays:
            fixture.check(key, parameter.grad[: len(fixture.arrays[key])])
            used.add(key)
    assert {key for key in fixture.arrays if key.startswith("grad/")} <= used


def read_by_inference(words: Tensor) -> Tensor:
    """Words between the boundary symbols that the program uses in the inference network: 0 and 2."""
    return torch.cat([torch.zeros_like(words[:, :1]), words, torch.full_like(words[:, :1], 2)], 1)


def closings_from(actions: Tensor, words: int) -> Tensor:
    """Reductions after each of the first ``words`` shifts (…, N) in shifts (0) and reductions (1)."""
    index = (1 - actions).cumsum(-1)
    return torch.stack([(actions * (index == k + 1)).sum(-1) for k in range(words)], -1)


def every_tree(count: int) -> Tensor:
    """Every binary tree over ``count`` words (trees, N, N + 1)."""
    return table(all_trees(0, count), count)


def trees_of(closings: Tensor) -> Tensor:
    """Trees (B, K, N, N + 1) with these ``closings`` (B, K, N), selected from all trees."""
    trees = every_tree(closings.shape[-1])
    matches = (closings[:, :, None] == closings_of(trees[None])).all(-1)
    return trees[matches.long().argmax(-1)]


@pytest.mark.parametrize("name", fixtures("urnng_inference"))
def test_span_scores_equal_those_of_the_program(name: str) -> None:
    fixture = load(name)
    model, words = model_of(fixture), fixture.tensor("sentences")
    count = words.shape[1]
    first, last = torch.ones(count, count).nonzero().t()  # also the spans that are not used
    scores = model.inference(model.embedding(read_by_inference(words)), first, last + 1).view(-1, count, count)
    fixture.check("scores", scores)
    used = model.span_scores(read_by_inference(words))[:, :, 1:]
    torch.testing.assert_close(used, scores.triu(), rtol=0, atol=1e-12)
    loss = (fixture.tensor("cotangent/scores") * scores).sum()
    fixture.check("loss", loss)
    loss.backward()
    check_gradients(model, fixture)


@pytest.mark.parametrize("name", fixtures("urnng_generative"))
def test_log_probabilities_of_trees_equal_those_of_the_program(name: str) -> None:
    fixture = load(name)
    model, symbols = model_of(fixture), fixture.tensor("tokens")
    closings = closings_from(fixture.tensor("actions"), symbols.shape[1] - 2)[:, None]
    without_end = model.joint(symbols[:, :-1], closings)
    fixture.check("noeos/ll_word", without_end.words[:, 0])
    fixture.check("noeos/ll_action", without_end.actions[:, 0])
    joint = model.joint(symbols, with_end(closings))
    fixture.check("ll_word", joint.words[:, 0])
    fixture.check("ll_action", joint.actions[:, 0])
    loss = -joint.total.mean()
    fixture.check("loss", loss)
    loss.backward()
    check_gradients(model, fixture)


@pytest.mark.parametrize("name", fixtures("urnng_objective"))
def test_objective_equals_that_of_the_program(name: str) -> None:
    fixture = load(name)
    model, symbols = model_of(fixture), fixture.tensor("tokens")
    words = symbols[:, 1:-1]
    closings = closings_from(fixture.tensor("actions"), words.shape[1])
    trees, crf = trees_of(closings), TreeCrf(model.span_scores(read_by_inference(words)))
    joint, log_q = model.joint(symbols, with_end(closings)), crf.log_probability(trees)
    fixture.check("ll_word", joint.words)
    fixture.check("ll_action", joint.actions)
    fixture.check("ll_q", log_q)
    fixture.check("entropy", crf.entropy)
    fixture.check("iwae", importance_bound(joint, log_q))
    loss = -model.bound(crf, trees, joint, kl=fixture.sizes["kl_pen"], learns_trees=True).mean()
    fixture.check("loss", loss)
    loss.backward()
    check_gradients(model, fixture)


def small_model() -> Rnng:
    """A model with random weights in evaluation mode."""
    torch.manual_seed(3)
    model = Rnng(RnngConfig(embedding_size=4, layers=2, inference_size=3, scoring_samples=400, particles=200), 7)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(10)
    return model.eval()


def test_word_and_sentence_probabilities_are_sums_over_all_trees() -> None:
    """The sum over words is exact if all derivations are kept, and sampled trees estimate it."""
    model, tokens = small_model(), torch.tensor([[2, 5, 3, 6, 2], [4, 4, 3, 2, 5]])
    batch = SentenceBatch(tokens, torch.tensor([5, 5]))
    closings = closings_of(every_tree(5)[None]).expand(2, -1, -1)
    joint = model.joint(bounded(tokens), with_end(closings))
    exact = joint.total.logsumexp(1)
    words = model.word_log_probabilities(batch)
    torch.testing.assert_close(words.sum(1), exact)
    model.config = replace(model.config, particles=24)
    torch.testing.assert_close(model.word_log_probabilities(batch).sum(1), exact, rtol=0, atol=0.5)
    assert (words[:, :-1] < 0).all()
    torch.testing.assert_close(model.log_probability(batch), exact, rtol=0, atol=0.15)


def test_given_trees_are_made_binary_from_the_left() -> None:
    shares = torch.zeros(2, 5, 6)
    for row, spans in zip(shares, [[(0, 5)], [(0, 5), (0, 3), (1, 3), (3, 5)]], strict=True):
        for start, end in spans:
            row[start, end] = 1
    trees = [set(map(tuple, tree[0].triu(2).nonzero().tolist())) for tree in binary_trees(shares)]
    assert trees == [{(0, end) for end in (2, 3, 4, 5)}, {(0, 5), (0, 3), (1, 3), (3, 5)}]


def test_inference_network_learns_in_its_epochs_only() -> None:
    model = Urnng(UrnngConfig(embedding_size=4, inference_size=3, layers=1, inference_epochs=1.0), 7)
    tokens = torch.tensor([[2, 5, 3], [4, 4, 3]])
    batch = FragmentBatch(tokens, torch.tensor([3, 3]), torch.zeros(2, 3, dtype=torch.uint8))
    model.step.fill_(1 / 4)  # four sentences
    learned = []
    for _ in range(3):
        model.zero_grad(set_to_none=True)
        model.loss(batch).objective.backward()
        learned.append([parameter.grad is not None for parameter in model.inference.parameters()])
    assert [all(item) for item in learned] == [True, True, False]
    assert not any(chain(*learned[2:]))
