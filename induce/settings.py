"""The settings of one run: a preset (TOML), changed by ``table.key=value``; and all settings of a model in words.

The [model] table of a preset names every setting of its model, so that a misspelt one is found without importing the
model.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from induce.config import TABLES, ParseConfig, RunConfig, check, limits_of
from induce.meanings import meaning_of
from induce.registry import MODELS, TASKS, canonical, known, load, model_class, models_of
from treebank.base.errors import SynparseError, UnknownNameError, nearest

DEFAULT_MODEL = "onlstm"


def preset_names() -> list[str]:
    """The presets that come with synparse."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in (files("induce") / "presets").iterdir()
        if entry.name.endswith(".toml")
    )


def load_preset(name: str, baseline: str | None = None) -> RunConfig:
    """The settings of preset ``name``; with the [baselines.…] table of a task's preset in the place of its [model].

    A name that ends in ``.toml`` is a file of the user's own: what it leaves out of [model] is as in the model's
    default preset. Raises SynparseError for what is unknown, missing or no TOML.
    """
    content = _own_preset(name) if name.endswith(".toml") else _shipped_preset(name)
    model = dict(content["model"])
    if baseline in content.get("baselines", {}):
        model = {"name": baseline, **content["baselines"][baseline]}
        content["parse"] = {"layer": 1, "decoder": model.pop("decoder", ParseConfig.decoder)}
        content["source"] = model.pop("source", content["source"])
    return RunConfig(
        preset=name,
        source=content["source"],
        model_name=model.pop("name"),
        model=model,
        on_sample=content.get("on-sample", {}),
        **{table: kind(**content.get(table, {})) for table, kind in TABLES.items()},
    )


def _shipped_preset(name: str) -> dict[str, Any]:
    if name not in preset_names():
        hint = nearest(name, preset_names())
        raise UnknownNameError(f"there is no preset {name!r}; {hint} (a file of your own must end in .toml)")
    return tomllib.loads((files("induce") / "presets" / f"{name}.toml").read_text("utf-8"))


def _own_preset(path: str) -> dict[str, Any]:
    """The tables of a user's file, checked, the model's settings completed from its default preset."""
    try:
        content = tomllib.loads(Path(path).read_bytes().decode("utf-8"))
    except FileNotFoundError:
        raise SynparseError(f"{path}: there is no such preset") from None
    except (ValueError, OSError, RecursionError) as error:
        raise SynparseError(f"{path}: cannot be read as TOML ({error})") from None
    tables = ("source", "model", "on-sample", *TABLES)
    for key in content:
        if key not in tables:
            raise SynparseError(f"{path}: there is no table [{key}]; {nearest(key, tables)}")
    model = content.get("model")
    if not isinstance(model, dict) or not isinstance(model.get("name"), str):
        raise SynparseError(f'{path}: [model] must give the name of a model, such as name = "onlstm"')
    try:
        usual = known(MODELS, model["name"], "model").preset
        base = {} if Path(usual) == Path(path) else load_preset(usual).model
        for key in model:
            if base and key != "name":
                _value(base, "model", key, key)
        for table, kind in TABLES.items():
            for key in content.get(table, {}):
                _value(kind(), table, key, key)
    except SynparseError as error:
        raise SynparseError(f"{path}: {error}") from None
    return {"source": path, **content, "model": {**base, **model}}


def resolve(
    *,
    model: str | None = None,
    preset: str | None = None,
    settings: Sequence[str] = (),
    sample: bool = False,
    task: str = "",
) -> RunConfig:
    """The settings of a run: the preset (by default the model's), then ``table.key=value`` changes in order.

    ``sample`` applies what the preset says about training on the built-in sample, before ``settings``. ``task`` chooses
    among the models and presets of that task. Raises SynparseError for anything unknown or of the wrong type, offering
    the nearest name.
    """
    if task:
        known(TASKS, task, "task")
    if model is not None:
        model = canonical(models_of(task), model)  # ON-LSTM is onlstm
        known(models_of(task), model, f"model for task {task!r} called" if task else "model")
    usual = TASKS[task].preset if task else MODELS[model or DEFAULT_MODEL].preset
    config = load_preset(preset or usual, model)
    if config.data.task != task:
        wanted = f"for task {config.data.task!r}" if config.data.task else "for plain text"
        hint = f"; add --task {config.data.task}" if not task else ""
        raise SynparseError(f"preset {preset!r} is {wanted}{hint}")
    if model is not None and config.model_name != model:
        raise SynparseError(f"preset {preset!r} is for model {config.model_name!r}, not {model!r}")
    changes = [f"{key}={value}" for key, value in config.on_sample.items()] if sample else []
    config = changed(config, [*changes, *settings])
    if task and (settle := TASKS[task].settle):
        return changed(load(settle)(config, model), settings)
    return config


def changed(config: RunConfig, settings: Sequence[str]) -> RunConfig:
    """``config`` after ``table.key=value`` changes in order. Raises SynparseError as ``resolve`` does."""
    for change in settings:
        config = _apply(config, change)
    check(config)
    return config


def _apply(config: RunConfig, change: str) -> RunConfig:
    """``config`` with one ``table.key=value`` change."""
    name, equals, text = change.partition("=")
    table, dot, key = name.strip().partition(".")
    if not (equals and dot and key):
        raise SynparseError(f"setting {change!r}: write it as table.key=value, such as train.epochs=10")
    part = _table(config, table, change)
    value = _convert(text.strip(), _value(part, table, key, change), change)
    changed: Any = {**part, key: value} if isinstance(part, Mapping) else replace(part, **{key: value})
    tables: dict[str, Any] = {table: changed}
    return replace(config, **tables)


def setting_of(config: RunConfig, name: str) -> Any:
    """The value of a setting, such as ``train.epochs``. Raises SynparseError, offering the nearest name."""
    table, _, key = name.partition(".")
    return _value(_table(config, table, name), table, key, name)


def _table(config: RunConfig, table: str, asked: str) -> Any:
    """The settings under [table]."""
    if table not in ("model", *TABLES):
        raise UnknownNameError(f"setting {asked!r}: there is no table {table!r}; {nearest(table, ('model', *TABLES))}")
    return config.model if table == "model" else getattr(config, table)


def _value(part: Any, table: str, key: str, asked: str) -> Any:
    """The value of ``key`` in the settings ``part`` under [table]."""
    known = part if isinstance(part, Mapping) else {one.name: getattr(part, one.name) for one in fields(part)}
    if key not in known:
        raise UnknownNameError(f"setting {asked!r}: [{table}] has no setting {key!r}; {nearest(key, known)}")
    return known[key]


def _convert(text: str, old: Any, change: str) -> Any:
    """``text`` as a value of the same type as ``old``."""
    if isinstance(old, str):
        return text
    if isinstance(old, bool):
        if text not in ("true", "false"):
            raise SynparseError(f"setting {change!r}: write true or false")
        return text == "true"
    try:
        return type(old)(text)
    except ValueError:
        kind = "a whole number" if isinstance(old, int) else "a number"
        raise SynparseError(f"setting {change!r}: {text!r} is not {kind}") from None


def explain(model: str) -> Iterator[str]:
    """Every setting of a model's runs in a few words: name, type, default, limits or choices, meaning.

    Loads torch. Raises SynparseError for an unknown model.
    """
    name = canonical(MODELS, model)
    config = load_preset(known(MODELS, name, "model").preset)
    yield f"defaults of preset {config.preset}; change one with --set table.key=value"
    for table, kind in (("model", model_class(name).Config), *TABLES.items()):
        values = config.model if table == "model" else asdict(getattr(config, table))
        for one in fields(kind):
            if one.name in values:
                about, value = one.metadata, values[one.name]
                limits = limits_of(one, value) if table == "model" else (about.get("low"), about.get("high"))
                meaning = meaning_of(one.name, about.get("help", ""))
                yield _explained(f"{table}.{one.name}", value, limits, about.get("choices") or (), meaning)


def _explained(
    name: str, value: Any, between: tuple[float | None, float | None], among: Sequence[str], meaning: str
) -> str:
    limits = [f"{word} {limit:g}" for word, limit in zip(("from", "to"), between, strict=True) if limit is not None]
    choices = [", ".join(choice or "(none)" for choice in among)]
    shown = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else f"{value}"
    parts = [f"{type(value).__name__}, default {shown}", " ".join(limits), *choices, meaning]
    return f"{name}: " + "; ".join(part for part in parts if part)
