"""The library that multiplies for a parser: chosen by the model alone, for blocks of many words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from induce.layers import backend
from induce.parsing.load import load_parser
from induce.storage.builtin import NAME as ENGLISH

SENTENCE = ["the", "dog", "sees", "a", "cat"]


def test_it_is_chosen_once_by_the_same_sentences_and_not_for_few_words(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, used = list[Any](), list[str]()

    def choose(work: Callable[[], Any], least: int) -> tuple[str, Any]:
        asked.append([[float(value) for value in row.ravel()] for row in work()])
        return backend.ONEDNN, asked[-1]

    multiplying = backend.multiplying
    monkeypatch.setattr(backend, "backend_for", choose)
    monkeypatch.setattr(backend, "multiplying", lambda name: used.append(name) or multiplying(name))
    trees = {}
    for count in (3, 600, 900):  # sentences; each parser has its own first block
        parser = load_parser(ENGLISH, device="cpu")
        trees[count] = list(parser.parse([SENTENCE] * count))
    assert len(asked) == 2
    assert asked[0] == asked[1]
    assert used[0] == backend.MKL  # three sentences
    assert backend.ONEDNN in used
    assert {str(tree) for part in trees.values() for tree in part} == {str(trees[3][0])}
