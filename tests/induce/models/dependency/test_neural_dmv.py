"""Initial trees of the neural dependency models."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from induce.data.corpus import EncodedCorpus, read_corpora
from induce.models.base import Context, Query
from induce.models.dependency.ndmv_factorized import NdmvSibling, NdmvSiblingConfig
from induce.structures import Heads
from tests.support.tiny import sentences, with_chains
from treebank.core.sentence import ROOT


def encoded(*, with_heads: bool) -> EncodedCorpus:
    """A text, with a chain of heads for each sentence if ``with_heads`` is true."""
    corpus, _ = read_corpora(sentences(60), "words", references=with_chains if with_heads else None)
    return corpus.encode(corpus.vocabulary(100, 1))


@pytest.mark.parametrize(("with_heads", "expected"), [(False, {5}), (True, {5, 6})])
def test_heads_of_a_teacher_are_learned_from_longer_sentences(with_heads: bool, expected: set[int]) -> None:
    corpus = encoded(with_heads=with_heads)
    model = NdmvSibling(NdmvSiblingConfig(classes=4, start_length=5, teacher_length=6), len(corpus.vocabulary))
    assert {len(heads) for _, rows in model._initial_trees(corpus) for heads in rows} == expected


def test_model_gives_the_heads_of_its_teacher_before_the_first_step() -> None:
    corpus = encoded(with_heads=True)
    torch.manual_seed(0)
    config = NdmvSiblingConfig(classes=4, start_epochs=60, teacher_rate=0.01)
    model = NdmvSibling(config, len(corpus.vocabulary))
    model.prepare(corpus, Context())
    batch = corpus.sentences(np.arange(4))
    expected = [[*range(1, length), ROOT] for length in batch.lengths.tolist()]
    assert model.structure(batch, Query(Heads)).heads == expected


def test_batches_of_long_initial_trees_are_small() -> None:
    model = NdmvSibling(NdmvSiblingConfig(start_sentences=256), 100)
    assert [model._sentences_per_batch(length) for length in (5, 10, 40, 200)] == [256, 256, 31, 1]
