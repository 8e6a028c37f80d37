"""JSON text: numbers that are not finite, deep nesting, and invalid characters."""

from __future__ import annotations

import json
import math

from treebank.base.json_text import has_nan, json_text


def test_numbers_that_are_not_finite_become_null() -> None:
    value = {"a": [1.5, math.nan, {"b": math.inf}], "c": 0.1 + 0.2}
    assert json.loads(json_text(value)) == {"a": [1.5, None, {"b": None}], "c": 0.1 + 0.2}
    assert has_nan(value)
    assert not has_nan({"a": [1, "NaN", math.inf]})
