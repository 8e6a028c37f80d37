"""Models that are fitted by counting, on texts with little to count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from induce.data.batches import FragmentBatch
from induce.models.base import Context, Query, make_model
from induce.structures import HeadDistribution, SpanScores
from tests.support.tiny import encoded, settings
from treebank.core.sentence import Sentence

TEXTS = {
    "one word": ["Hello"],
    "one sentence": ["one sentence and no more"],
    "two fragments": ["a , b"],
    "one type": ["same same same"] * 30,
    "mostly punctuation": ["、。 … !"] * 2 + ["x"],
    "no spaces": ["これは文です。", "言葉の間に空白がない文章", "もう一つ"] * 4,  # a line is a word
    "100 words": [" ".join(f"w{(7 * i + j) % 100}" for j in range(i % 9 + 1)) for i in range(60)],  # no punctuation
    "long sentences": [" ".join(f"w{i % 7}" for i in range(26))] * 2,
}


@pytest.mark.parametrize("name", ["dmv", "ccm", "dmv-ccm", "segment-edges"])
@pytest.mark.parametrize("text", TEXTS)
def test_unusual_texts_give_finite_results(name: str, text: str) -> None:
    corpus = encoded(Sentence(tuple(line.split())) for line in TEXTS[text])
    model: Any = make_model(settings(name), len(corpus.vocabulary))
    assert list(model.fit(corpus, 0, Context()))[-1].check
    every = np.arange(len(corpus))
    plain = corpus.sentences(every)
    batch = FragmentBatch(plain.tokens, plain.lengths, torch.from_numpy(corpus.gaps_before(every)))
    for structure in {SpanScores, HeadDistribution}.intersection(model.gives):
        assert all(np.isfinite(row).all() for row in model.structure(batch, Query(structure)).rows())
    assert torch.isfinite(model.loss(batch).nll)
