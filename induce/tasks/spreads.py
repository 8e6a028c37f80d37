"""Mean and deviation of a task's score over the runs that one pattern names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from treebank.evaluate.score import Runs


def spreads_of(document: Mapping[str, Any], groups: Mapping[str, Sequence[str]]) -> dict[str, Runs]:
    """Pattern -> the values of its runs, of what a task's evaluation gives as JSON; only patterns of several runs.

    Scores without a value, as those of tasks that count several things, have none.
    """
    values = {one["model"]: one["value"] for one in document["scores"] if one.get("value") is not None}
    return {
        pattern: Runs({run: values[run] for run in group})
        for pattern, group in groups.items()
        if len(group) > 1 and values.keys() >= set(group)
    }
