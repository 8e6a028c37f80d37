"""Mean and deviation of a task's score over the runs that match one pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from treebank.evaluate.score import Runs


def spreads_of(document: Mapping[str, Any], groups: Mapping[str, Sequence[str]]) -> dict[str, Runs]:
    """Scores of the runs of each pattern that matches several runs, from the JSON of an evaluation.

    A pattern is left out if one of its runs has no value, as in tasks with several measures.
    """
    values = {score["model"]: score["value"] for score in document["scores"] if score.get("value") is not None}
    return {
        pattern: Runs({run: values[run] for run in group})
        for pattern, group in groups.items()
        if len(group) > 1 and values.keys() >= set(group)
    }
