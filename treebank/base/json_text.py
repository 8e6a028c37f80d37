"""JSON text that every other program can read: NaN and infinities are written as null."""

from __future__ import annotations

import json
import math
from typing import Any


def json_text(value: Any, *, indent: int | None = None, compact: bool = False) -> str:
    """``value`` as JSON in one line, or indented. NaN and infinities become null. All other numbers are exact.

    ``compact``: without spaces between the values.
    A character that represents an invalid byte in the name of a file is written as an escape sequence.
    """
    separators = (",", ":") if compact else None
    try:
        text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=False, allow_nan=False)
    except ValueError:  # a number that is not finite
        text = json.dumps(finite(value), indent=indent, separators=separators, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode()


def parse_json(data: str | bytes) -> Any:
    """The value of JSON text. Raises ValueError for malformed text and for text that is nested too deeply."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def finite(value: Any) -> Any:
    """``value`` with infinities and NaN, which JSON lacks, replaced by None, also inside lists and dictionaries."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    return [finite(part) for part in value] if isinstance(value, (list, tuple)) else value


def has_nan(value: Any) -> bool:
    """Whether ``value`` contains NaN at any depth."""
    if isinstance(value, float):
        return math.isnan(value)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return any(map(has_nan, parts))
