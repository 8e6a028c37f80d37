"""JSON that every other program can read."""

from __future__ import annotations

import json
import math
from typing import Any


def json_text(value: Any, *, indent: int | None = None) -> str:
    """``value`` as JSON in one line, or indented. A number that is infinite or not one becomes null, which JSON has.

    What stands for a byte that is not UTF-8 in the name of a file is written as an escape sequence, and reads back.
    """
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    except ValueError:  # a number that is not finite
        text = json.dumps(finite(value), indent=indent, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode()


def parse_json(data: str | bytes) -> Any:
    """The value that JSON says. Raises ValueError for what is none, or is nested too deeply to be read."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def finite(value: Any) -> Any:
    """``value`` with None in the place of infinities and NaN, in lists and objects, too."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    return [finite(part) for part in value] if isinstance(value, (list, tuple)) else value


def has_nan(value: Any) -> bool:
    """Whether there is a number that is none in ``value``, or in the lists and objects in it."""
    if isinstance(value, float):
        return math.isnan(value)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return any(map(has_nan, parts))
