"""The format of the Penn historical corpora."""

from __future__ import annotations

from pathlib import Path

import pytest

from treebank.graphs.bracket_dialects import read_corpussearch, without_lemma

BRACKETS = Path(__file__).resolve().parents[3] / "tests/data/brackets"


def read(name: str) -> list[tuple[int, str]]:
    return [(sentence.location.line, str(sentence.tree)) for sentence in read_corpussearch(str(BRACKETS / name))]


def test_corpus_search() -> None:
    assert read("history.psd") == [
        (
            10,
            "(IP-MAT (NP-SBJ (PRO-N Hún)) (VBDI sá) (CP-THT (C (-NONE- 0)) (IP-SUB (NP-SBJ (-NONE- *con*))"
            " (NP-OB1 (N-A e-póst$) (D-A $inn)))) (, -) (NUM 0) (. .))",
        )
    ]


def test_corpus_search_without_lemmas_keeps_hyphens_and_zero() -> None:
    (sentence,) = read_corpussearch(str(BRACKETS / "keyaki.psd"))
    assert sentence.words == ("猫", "が", "0", "-", "見る-x", "。")


@pytest.mark.parametrize(
    ("leaf", "word"),
    [("a-b", "a"), ("---", "-"), ("e-mail-e-mail", "e-mail"), ("-x", "-x"), ("x-", "x-"), ('"-"-"', '"'), ("a", "a")],
)
def test_lemma(leaf: str, word: str) -> None:
    assert without_lemma(leaf) == word
