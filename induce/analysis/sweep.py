"""Scores of several models by the value of a setting (as in figure 12 of Shen 2022, thesis: the mask rate)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from induce.analysis.channels import mean_cells
from induce.decoding.specification import NO_PRIORS
from induce.settings.presets import setting_of
from induce.settings.run import TABLES, RunConfig
from induce.storage.checkpoint import find, read
from induce.storage.locate import parse_model_spec
from treebank.base.errors import SynparseError
from treebank.base.tables import Cell, Column, Table
from treebank.evaluate.score import Runs


@dataclass(frozen=True)
class Sweep:
    """Scores of models that differ in a setting."""

    setting: str  # such as "model.mask_rate"
    data: str  # data of the scores
    scores: Mapping[tuple[str, str], Mapping[Any, Runs]]  # (metric, convention) -> value of the setting -> models
    also: Sequence[str] = ()  # other settings, except the seed, in which the models differ

    @property
    def values(self) -> list[Any]:
        """The values of the setting, in order."""
        return sorted({value for runs in self.scores.values() for value in runs})

    @property
    def names(self) -> list[str]:
        """Name of each score: its metric, and its convention if there are several."""
        several = len({convention for _, convention in self.scores}) > 1
        return [f"{metric} {convention}" if several and convention else metric for metric, convention in self.scores]

    def tables(self) -> list[Table]:
        """One row per value of the setting, with mean and standard deviation of each score."""
        columns = [Column(self.setting), Column("Models")]
        columns += [Column(part, ".2f") for name in self.names for part in (name, f"{name} SD")]
        rows: list[list[Cell]] = []
        for value in self.values:
            by_score = [runs.get(value) for runs in self.scores.values()]
            models = max(len(runs.values) for runs in by_score if runs)
            setting = ",".join(value) or NO_PRIORS if isinstance(value, tuple) else str(value)
            rows.append([setting, models, *(cell for runs in by_score for cell in mean_cells(runs))])
        differences = [f"note: these models also differ in {', '.join(self.also)}"] if self.also else []
        return [Table("", columns, rows, footnotes=differences)]

    def to_json(self) -> dict[str, Any]:
        """The scores as a JSON object."""
        rows = [
            {"metric": metric, "convention": convention, "setting": value, **runs[value].to_json()}
            for (metric, convention), runs in self.scores.items()
            for value in sorted(runs)
        ]
        return {"setting": self.setting, "data": self.data, "scores": rows}


def sweep(document: Any, setting: str) -> Sweep:
    """Scores of models by the value of a setting in their model folders.

    ``document`` is the JSON output of an evaluation of trees, heads, a text, a task or minimal pairs. Raises ValueError
    if it has another form, no models, or models of several types; SynparseError if a model folder is missing or has no
    such setting.
    """
    scores: dict[tuple[str, str], dict[Any, dict[str, float]]] = {}
    configs: dict[str, RunConfig] = {}
    try:
        data = str(document["data"]) if "data" in document else "minimal pairs"  # of a task, or no name
        data = next((str(document[key]["name"]) for key in ("gold", "text") if key in document), data)
        entries = list(model_scores(document["scores"]))
        for model in dict.fromkeys(entry["model"] for entry in entries):
            configs[model] = _config_of(model)
        for entry in entries:
            value = setting_of(configs[entry["model"]], setting)
            same = scores.setdefault((entry["metric"], _counted(entry, entries)), {}).setdefault(value, {})
            same[entry["model"]] = float(entry["value"])
    except (KeyError, TypeError, ValueError):
        raise ValueError("not the JSON output of an evaluation with this version") from None
    if not entries:
        raise ValueError("contains no scores of models; evaluate models with -m")
    types = sorted({config.model_name for config in configs.values()})
    if len(types) > 1:
        raise ValueError(f"these are scores of {' and '.join(types)}; a sweep needs models of one type")
    runs = {score: {value: Runs(by_run) for value, by_run in by_value.items()} for score, by_value in scores.items()}
    first, tables = next(iter(configs.values())), [config.as_dict() for config in configs.values()]
    names = {f"{table}.{key}": None for config in tables for table in ("model", *TABLES) for key in config[table]}
    differing = [
        name
        for name in names
        if name not in (setting, "train.seed")
        and any(setting_of(config, name) != setting_of(first, name) for config in configs.values())
    ]
    return Sweep(setting, data, runs, differing)


def _config_of(model: str) -> RunConfig:
    """Settings of a model, with the options of its specification as settings of parsing.

    Raises SynparseError if there is no such model.
    """
    spec = parse_model_spec(model)
    if not Path(spec.path).exists():
        raise SynparseError(f"{spec.path}: no such folder; run this command in the folder in which eval was run")
    config = read(find(Path(spec.path))).config
    priors = [prior for prior in spec.priors.split("+") if prior != NO_PRIORS]
    options = spec.options | ({"priors": priors} if spec.priors else {})
    return replace(config, parse=replace(config.parse, **options))


def model_scores(scores: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The scores of models with model, metric, convention and value. A task may have several metrics.

    Scores without a value, such as an infinite perplexity, are left out.
    """
    for score in scores:
        model = score.get("model") or score.get("run")
        if "values" in score:  # a task with several metrics; an entry without a model is their mean
            metrics = score["values"].items() if model else ()
            yield from ({"model": model, "metric": name, "convention": "", "value": value} for name, value in metrics)
            continue
        for entry in (score, score.get("trees")):
            if not model or not entry or entry.get("value", 0) is None:
                continue
            value = entry.get("value", entry.get("mean"))  # the mean of phenomena, for minimal pairs
            metric, convention = entry.get("metric", "accuracy"), entry.get("convention", "")
            yield {**entry, "model": model, "metric": metric, "convention": convention, "value": value}


def _counted(entry: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> str:
    """The name of the convention of ``entry``, or its description if different conventions have the same name."""
    if not entry["convention"]:
        return ""
    name, description = entry["convention"], _convention_part(entry)
    descriptions = {_convention_part(other) for other in entries if other["convention"] == name}
    metrics = {other["metric"] for other in entries if other["convention"] == name}
    return name if len(descriptions) == len(metrics) else description.removeprefix(f"{entry['metric']}|")


def _convention_part(entry: Mapping[str, Any]) -> str:
    """The start of a signature, which describes the convention but not model and data."""
    signature: str = entry["signature"]
    return signature.partition("|data:")[0].partition("|model:")[0]
