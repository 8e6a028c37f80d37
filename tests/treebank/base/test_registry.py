"""Look-up by name with a suggestion."""

from __future__ import annotations

import pytest

from treebank.base.errors import UnknownNameError
from treebank.base.registry import Registry


def test_unknown_name_suggests_the_nearest_one() -> None:
    colors = Registry("color", {"red": 1, "blue": 2})
    assert colors.get("blue") == 2
    with pytest.raises(UnknownNameError, match=r"^there is no color 'bleu'; did you mean 'blue'\?$"):
        colors.get("bleu")
    with pytest.raises(UnknownNameError, match=r"^there is no color 'x'; known: blue, red$"):
        colors.get("x")


def test_empty_name_is_visible_in_the_list() -> None:
    with pytest.raises(UnknownNameError, match=r"^there is no rule 'x'; known: '', none$"):
        Registry("rule", {"": 1, "none": 2}).get("x")
