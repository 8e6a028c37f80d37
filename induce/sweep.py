"""Scores of several models by the value of a setting (as in figure 12 of Shen 2022, thesis: the mask rate)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from induce.checkpoint import find, read
from induce.config import setting_of
from treebank.metrics.report import Runs


@dataclass(frozen=True)
class Sweep:
    """Scores of models that differ in a setting."""

    setting: str  # such as "model.mask_rate"
    data: str  # what was scored on
    scores: Mapping[tuple[str, str], Mapping[Any, Runs]]  # (metric, convention) -> value of the setting -> models

    @property
    def values(self) -> list[Any]:
        """The values of the setting, in order."""
        return sorted({value for runs in self.scores.values() for value in runs})

    @property
    def names(self) -> list[str]:
        """What each score is called: its metric, and its convention where there are several."""
        several = len({convention for _, convention in self.scores}) > 1
        return [f"{metric} {convention}" if several else metric for metric, convention in self.scores]

    def to_json(self) -> dict[str, Any]:
        """What ``synparse analyze sweep --json`` writes."""
        rows = [
            {"metric": metric, "convention": convention, "setting": value, **runs[value].to_json()}
            for (metric, convention), runs in self.scores.items()
            for value in sorted(runs)
        ]
        return {"setting": self.setting, "data": self.data, "scores": rows}


def sweep(document: Any, setting: str) -> Sweep:
    """The scores in ``document`` (what ``synparse eval --json`` writes) by the value that each model's run has there.

    Raises ValueError for another document, SynparseError if a model is gone or has no such setting.
    """
    scores: dict[tuple[str, str], dict[Any, dict[str, float]]] = {}
    try:
        data = str(document["gold"]["name"])
        entries = [entry for entry in document["scores"] if "model" in entry]
        for entry in entries:
            value = setting_of(read(find(Path(entry["model"]))).config, setting)
            same = scores.setdefault((entry["metric"], entry["convention"]), {}).setdefault(value, {})
            same[entry["model"]] = float(entry["value"])
    except (KeyError, TypeError, ValueError):
        raise ValueError("this is not what `synparse eval --json` writes, or of an earlier version") from None
    if not entries:
        raise ValueError("there are no scores of models here; name models with -m when you call `synparse eval`")
    found = {kind: {value: Runs(runs) for value, runs in by_value.items()} for kind, by_value in scores.items()}
    return Sweep(setting, data, found)
