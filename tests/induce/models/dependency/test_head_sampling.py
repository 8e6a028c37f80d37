"""Frequencies of sentences drawn from dependency models against their probabilities."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest
import torch

from induce.data.batches import SentenceBatch
from induce.models.dependency.head_sampling import HeadSampler, class_grammars
from induce.models.dependency.neural_dmv import Ndmv, NdmvConfig
from induce.models.em.dmv import Dmv, DmvConfig
from tests.support.dependency_trees import is_projective
from treebank.core.dependency import is_tree

DRAWN = 4000
CLASSES = [0, 0, 0, 1, 1]  # of the boundary token and four words


def random_dmv() -> Dmv:
    """Two grammars over two classes."""
    model = Dmv(DmvConfig(members=2, classes_low=2, classes_high=2), len(CLASSES))
    model.passes.fill_(model.config.passes)
    model.classes.copy_(torch.tensor([CLASSES, [0, 1, 0, 0, 1]]))
    model.word_given_class.copy_(torch.tensor([[1e-9, 0.8, 0.2, 0.3, 0.7], [1e-9, 0.4, 0.5, 0.5, 0.6]]))
    model.root.copy_(torch.rand(2, 2).softmax(-1))
    model.stop.copy_(0.5 + 0.4 * torch.rand(model.stop.shape))
    model.choose.copy_((2 * torch.randn(model.choose.shape)).softmax(-1))
    return model


def random_ndmv() -> Ndmv:
    """A grammar over two classes, in which the class of padding is impossible."""
    sizes = {"embedding_size": 4, "hidden_size": 6, "child_size": 5, "decision_size": 4}
    model = Ndmv(NdmvConfig(classes=2, **sizes), len(CLASSES))
    model.classes.copy_(torch.tensor([0, 1, 1, 2, 2]))
    model.word_given_class.copy_(torch.tensor([1, 0.8, 0.2, 0.3, 0.7]).log())
    with torch.no_grad():
        for layer in (model.child_output, model.root):
            layer.weight *= 8
            layer.bias[0] = -1e4
        model.decision_output.bias[1] += 1.0  # short sentences
    return model


@pytest.mark.parametrize("make", [random_dmv, random_ndmv])
def test_frequencies_are_probabilities(make: Any) -> None:
    torch.manual_seed(2)
    model = make()
    sampler = HeadSampler(class_grammars(model), seed=1)
    drawn = [sampler.draw(12) for _ in range(DRAWN)]
    counts = Counter(tuple(item.words) for item in drawn if item)
    for count in (1, 2):
        sentences = list(product(range(1, len(CLASSES)), repeat=count))
        batch = SentenceBatch(torch.tensor(sentences), torch.full((len(sentences),), count))
        with torch.no_grad():
            probabilities = model.log_probability(batch).exp()
        for words, probability in zip(sentences, probabilities.tolist(), strict=True):
            deviation = (probability * (1 - probability) / DRAWN) ** 0.5
            assert counts[words] / DRAWN == pytest.approx(probability, abs=4 * deviation + 1e-3), words
    for item in filter(None, drawn):
        assert is_tree(item.heads)
        assert is_projective(item.heads)
        assert len(item.words) == len(item.classes) <= 12


def test_order_of_dependents_follows_the_order_of_generation() -> None:
    """The first dependent that is drawn is class 0, later ones class 1: near the head, or far from it."""
    model = random_dmv()
    (grammar, _) = class_grammars(model)
    rules = grammar.rules
    rules.root[:], rules.choose[:], rules.stop[:] = [0.0, 1.0], 0.0, 0.4
    rules.choose[:, :, 0, 0] = rules.choose[:, :, 1, 1] = 1.0
    rules.stop[0] = 1.0  # class 0 has no dependents
    rules.stop[:, 1] = 1.0  # all are on the right
    for from_outside in (False, True):
        sampler = HeadSampler([type(grammar)(rules, grammar.classes, grammar.word_given_class, from_outside)], seed=1)
        trees = [item for item in (sampler.draw(10) for _ in range(100)) if item and item.heads.count(0) > 1]
        assert trees
        for tree in trees:
            groups = [tree.classes[word] for word, head in enumerate(tree.heads) if head == 0]
            assert groups[-1 if from_outside else 0] == 0
            assert groups.count(0) == 1
