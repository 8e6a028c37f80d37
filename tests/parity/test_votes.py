"""Votes of several trees for one sentence: constituents of Shayegh et al. 2024 and heads of Shayegh et al. 2025."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from synparse import combine
from tests.support.reference import Fixture, fixtures, load
from treebank.core.sentence import ROOT
from treebank.core.tree import Tree

RESULTS = {"generative": [], "generative_right": ["baseline:right"]}  # of the fixture -> further members
VOTES = ("uniform", "weighted")


def words_of(fixture: Fixture, case: int) -> tuple[str, ...]:
    """Words of a case, such as wa, wb, wc."""
    return tuple(f"w{chr(ord('a') + index)}" for index in range(fixture.arrays["input/lengths"][case]))


def values_of(fixture: Fixture, case: int, name: str) -> np.ndarray:
    """One value for each tree of a case."""
    return fixture.arrays[f"input/{name}"][case, : fixture.arrays["input/number_of_trees"][case]]


def spans_of(rows: np.ndarray) -> list[tuple[int, int]]:
    """Spans in the rows that are not padding."""
    return [(start, end) for start, end in rows.tolist() if start >= 0]


@pytest.mark.parametrize("name", fixtures("ensemble_constituency"))
@pytest.mark.parametrize("result", RESULTS)
def test_votes_for_spans(name: str, result: str, tmp_path: Path) -> None:
    fixture = load(name)
    for case in range(fixture.sizes["cases"]):
        words, members = words_of(fixture, case), list(RESULTS[result])
        trees = [Tree.from_spans(words, spans_of(rows)) for rows in values_of(fixture, case, "trees")]
        for index, tree in enumerate(trees):
            path = tmp_path / f"{case}-{index}.trees"
            path.write_text(f"{tree}\n", encoding="utf-8")
            members.insert(index, str(path))
        voted = next(iter(combine(members, tmp_path / str(case)).parse([words])))
        expected = spans_of(fixture.arrays[f"spans/{result}"][case])
        assert set(voted.spans) == set(expected), case


def conllu(words: Sequence[str], heads: np.ndarray) -> str:
    """A sentence as CoNLL-U."""
    rows = enumerate(zip(words, heads.tolist(), strict=True), 1)
    return "".join(f"{index}\t{word}\t_\t_\t_\t_\t{head}\t_\t_\t_\n" for index, (word, head) in rows) + "\n"


@pytest.mark.parametrize("name", fixtures("ensemble_dependency"))
@pytest.mark.parametrize("vote", VOTES)
def test_votes_for_heads(name: str, vote: str, tmp_path: Path) -> None:
    """The votes of the fixture for spans of subtrees are left out."""
    fixture = load(name)
    for case in range(fixture.sizes["cases"]):
        words, members = words_of(fixture, case), []
        weights = values_of(fixture, case, "weights").tolist()
        for index, heads in enumerate(values_of(fixture, case, "heads")):
            path = tmp_path / f"{case}-{index}.conllu"
            path.write_text(conllu(words, heads[: len(words)]), encoding="utf-8")
            members.append(f"{path}@weight={weights[index]!r}" if vote == "weighted" else str(path))
        _, voted = next(iter(combine(members, tmp_path / str(case)).parse_heads([words])))
        expected = fixture.arrays[f"heads/{vote}"][case, : len(words)]
        assert [0 if head == ROOT else head + 1 for head in voted] == expected.tolist(), case
