"""Library that multiplies matrices for a parser: it depends on the model and on the number of words alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from induce.layers import matrix_library
from induce.parsing.load import load_parser
from induce.storage.builtin import GRAMMAR

SENTENCE = ["the", "dog", "sees", "a", "cat"]


def test_library_is_chosen_once_and_only_for_many_words(monkeypatch: pytest.MonkeyPatch) -> None:
    choices, used = list[int](), list[str]()

    def choose(compute: Callable[[], object], min_multiplications: int) -> str:
        compute()
        choices.append(min_multiplications)
        return matrix_library.ONEDNN

    multiplying = matrix_library.multiplying
    monkeypatch.setattr(matrix_library, "choose_library", choose)
    monkeypatch.setattr(matrix_library, "multiplying", lambda name: used.append(name) or multiplying(name))
    trees = {}
    for count in (3, 600, 900):  # sentences; each parser has its own first block
        parser = load_parser(GRAMMAR, device="cpu")
        trees[count] = list(parser.parse([SENTENCE] * count))
    assert len(choices) == 2
    assert used[0] == matrix_library.MKL  # three sentences
    assert matrix_library.ONEDNN in used
    assert {str(tree) for part in trees.values() for tree in part} == {str(trees[3][0])}
