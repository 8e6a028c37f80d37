"""Scores of several models by the value of a setting (as in figure 12 of Shen 2022, thesis: the mask rate)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from induce.config import TABLES, RunConfig
from induce.settings import setting_of
from induce.storage.checkpoint import find, read
from treebank.base.errors import SynparseError
from treebank.evaluate.score import Runs


@dataclass(frozen=True)
class Sweep:
    """Scores of models that differ in a setting."""

    setting: str  # such as "model.mask_rate"
    data: str  # what was scored on
    scores: Mapping[tuple[str, str], Mapping[Any, Runs]]  # (metric, convention) -> value of the setting -> models
    also: Sequence[str] = ()  # other settings in which the models differ, but for the seed

    @property
    def values(self) -> list[Any]:
        """The values of the setting, in order."""
        return sorted({value for runs in self.scores.values() for value in runs})

    @property
    def names(self) -> list[str]:
        """What each score is called: its metric, and its convention where there are several."""
        several = len({convention for _, convention in self.scores}) > 1
        return [f"{metric} {convention}" if several and convention else metric for metric, convention in self.scores]

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

    It may be of trees or heads, of a text, of a task or of minimal pairs.

    Raises ValueError for another document, or models of several kinds, SynparseError if a model is gone or has no such
    setting.
    """
    scores: dict[tuple[str, str], dict[Any, dict[str, float]]] = {}
    configs: dict[str, RunConfig] = {}
    try:
        data, entries = _data_of(document), list(_entries(document["scores"]))
        for model in dict.fromkeys(entry["model"] for entry in entries):
            if not Path(model).exists():
                raise SynparseError(f"{model}: there is no such folder; call this where `synparse eval` was called")
            configs[model] = read(find(Path(model))).config
        for entry in entries:
            value = setting_of(configs[entry["model"]], setting)
            same = scores.setdefault((entry["metric"], _counted(entry, entries)), {}).setdefault(value, {})
            same[entry["model"]] = float(entry["value"])
    except (KeyError, TypeError, ValueError):
        raise ValueError("this is not what `synparse eval --json` writes, or of an earlier version") from None
    if not entries:
        raise ValueError("there are no scores of models here; name models with -m when you call `synparse eval`")
    kinds = sorted({config.model_name for config in configs.values()})
    if len(kinds) > 1:
        raise ValueError(
            f"these scores are of {' and '.join(kinds)}; only models of one kind differ in a setting alone"
        )
    found = {kind: {value: Runs(runs) for value, runs in by_value.items()} for kind, by_value in scores.items()}
    return Sweep(setting, data, found, _differences(list(configs.values()), setting))


def _data_of(document: Mapping[str, Any]) -> str:
    """What the scores are on: a treebank, a text, the examples of a task, or minimal pairs."""
    for name in ("gold", "text"):
        if name in document:
            return str(document[name]["name"])
    return str(document["data"]) if "data" in document else "minimal pairs"


def _entries(scores: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The scores of models with a model, metric, convention and value each; what a task has several of are several.

    Those that are no numbers, such as an infinite perplexity, are left out.
    """
    for score in scores:
        model = score.get("model") or score.get("run")
        if "values" in score:  # a task with several measures; their mean over models is of no model
            several = score["values"].items() if model else ()
            yield from ({"model": model, "metric": name, "convention": "", "value": one} for name, one in several)
            continue
        for one in (score, score.get("trees")):
            if not model or not one or one.get("value", 0) is None:
                continue
            value = one.get("value", one.get("mean"))  # of minimal pairs the mean of phenomena
            metric, convention = one.get("metric", "accuracy"), one.get("convention", "")
            yield {**one, "model": model, "metric": metric, "convention": convention, "value": value}


def _counted(entry: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> str:
    """The name of the convention of ``entry``; all that it says where others go by the same name."""
    if not entry["convention"]:
        return ""
    name, told = entry["convention"], _convention_part(entry)
    same = {_convention_part(one) for one in entries if one["convention"] == name}
    metrics = {one["metric"] for one in entries if one["convention"] == name}
    return name if len(same) == len(metrics) else told.removeprefix(f"{entry['metric']}|")


def _convention_part(entry: Mapping[str, Any]) -> str:
    """The beginning of a signature, which says what was counted and not of which model or data."""
    told: str = entry["signature"]
    return told.partition("|data:")[0].partition("|model:")[0]


def _differences(configs: Sequence[RunConfig], setting: str) -> list[str]:
    """The settings, other than the one asked for and the seed, in which the models are not all the same."""
    tables = [config.as_dict() for config in configs]
    names = {f"{table}.{key}": None for one in tables for table in ("model", *TABLES) for key in one[table]}
    return [
        name
        for name in names
        if name not in (setting, "train.seed")
        and any(setting_of(config, name) != setting_of(configs[0], name) for config in configs)
    ]
