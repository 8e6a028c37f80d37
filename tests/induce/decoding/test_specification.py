"""All decoders: sentences of no words, one word and many words, and invalid rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from induce.decoding.specification import decoder, decoder_together
from induce.registry import DECODERS, DecoderEntry
from induce.structures import Distances, HeadDistribution, Heights, Impact, SpanScores, StackDecisions, Structure
from treebank.base.errors import SynparseError
from treebank.core.dependency import is_tree
from treebank.core.sentence import ROOT

SHAPES: dict[str, Callable[[int], int]] = {
    "rising": lambda i: i,
    "falling": lambda i: -i,
    "level": lambda i: 0,
    "zigzag": lambda i: i * (-1) ** i,
}
MANY = 50_000  # words
NAN, INF = math.nan, math.inf
INVALID: list[tuple[type[Structure], Any, str]] = [
    (Distances, [0.0, 1.0, NAN], "distance 3 of 3 is not a number"),
    (Heights, [(1.0, 1.0), (NAN, 0.0)], "is not a number"),
    (Heights, [(1.0, 1.0), (0.0, NAN)], "is not a number"),
    (StackDecisions, [3, -1], "slot -1: slots count from 0"),
    *(
        (SpanScores, row, "span scores")
        for row in (np.full((3, 4), NAN), np.full((2, 3), INF), np.zeros((3, 3)), np.zeros(3))
    ),
    (HeadDistribution, [[0.0, 1.0], [NAN, 0.0]], "number 0 in row 1 of heads, nan, is not a probability"),
    (HeadDistribution, [[0.0, -0.5], [1.0, 0.0]], "number 1 in row 0 of heads, -0.5, is not a probability"),
    (HeadDistribution, [[0.0, INF], [1.0, 0.0]], "number 1 in row 0 of heads, inf, is not a probability"),
    (HeadDistribution, [[0.0, 1.0]], "heads are 1 x 2 numbers; a square with a row for each word is needed"),
    (HeadDistribution, [0.0, 1.0], "heads are 2 numbers; a square"),
    (HeadDistribution, [[0.0, 1.0], [1.0]], "the rows of heads differ in length"),
    (Impact, [[0.0, 1.0]], "one row and one column per word"),
    (Impact, [[0.0, NAN], [1.0, 0.0]], "not a finite number"),
]


@pytest.mark.parametrize("name", list(DECODERS))
def test_sentences_of_no_words_and_of_one(name: str) -> None:
    decode, structure = decoder(name), DECODERS.get(name).reads
    assert list(decode(structure.trivial(0))) == []
    assert list(decode(structure.trivial(1))) == ([ROOT] if DECODERS.get(name).gives == "heads" else [])


@pytest.mark.parametrize(
    "name", [name for name, entry in DECODERS.items() if entry.reads in (Distances, Heights, StackDecisions)]
)
@pytest.mark.parametrize("shape", SHAPES)
def test_many_words_take_seconds_and_no_recursion(name: str, shape: str) -> None:
    values = [SHAPES[shape](i) for i in range(MANY)]
    rows = {
        Distances: list(map(float, values)),
        Heights: [(value, value) for value in values],
        StackDecisions: [value % 15 for value in values],
    }
    began = time.process_time()
    result = decoder(name)(rows[DECODERS.get(name).reads])
    assert time.process_time() - began < 10  # quadratic time would need hours
    assert is_tree(result) if DECODERS.get(name).gives == "heads" else (0, MANY) in result


@pytest.mark.parametrize(("structure", "row", "message"), INVALID)
def test_invalid_rows_are_refused(structure: type[Structure], row: Any, message: str) -> None:
    names = [name for name, entry in DECODERS.items() if entry.reads is structure]
    assert names
    for name in names:
        with pytest.raises(SynparseError, match=message):
            decoder(name)(row)


@pytest.mark.parametrize(
    ("name", "gives", "problem"),
    [
        ("crossing", "trees", r"returned no trees: span \(1, 3\) crosses another span"),
        ("nothing", "trees", "returned no trees: 'NoneType' object is not iterable"),
        ("own_heads", "heads", r"returned no heads: not the heads of 3 words: \[0, 0, 0\]"),
        ("far_heads", "heads", r"returned no heads: not the heads of 3 words: \[-1, 3, 0\]"),
    ],
)
def test_wrong_results_of_another_package_are_reported(
    monkeypatch: pytest.MonkeyPatch, name: str, gives: Any, problem: str
) -> None:
    reads = Distances if gives == "trees" else HeadDistribution
    monkeypatch.setitem(DECODERS.entries, name, DecoderEntry(f"{__name__}:{name}", reads, gives))
    row = [0.0] * 3 if gives == "trees" else np.full((3, 3), 1 / 3)
    for decode in (decoder(name), lambda row: decoder_together(name)([row])):
        with pytest.raises(SynparseError, match=rf"decoder '{name}' \({__name__}:{name}\) has {problem}"):
            decode(row)


def crossing(row: Any) -> Any:
    return [(0, 2), (1, 3)]


def nothing(row: Any) -> None:
    return None


def own_heads(row: Any) -> Any:
    return [0, 0, 0]


def far_heads(row: Any) -> Any:
    return [-1, 3, 0]


@pytest.mark.parametrize("shape", [(2, 2), (1, 3), (2, 3, 1)])
def test_numbers_of_a_wrong_shape_are_reported(shape: tuple[int, ...]) -> None:
    """A model of another package can give them."""
    structure = Distances(torch.zeros(shape), torch.tensor([3, 2]))
    with pytest.raises(SynparseError, match=r"a model has returned numbers of the shape .*, not \(2, 3\)"):
        structure.rows()
