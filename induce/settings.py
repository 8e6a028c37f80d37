"""The settings of one run: a preset (TOML), changed by ``table.key=value``; and all settings of a model in words."""

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
from treebank.base.errors import SynparseError, UnknownNameError
from treebank.base.registry import nearest

DEFAULT_MODEL = "onlstm"


def preset_names() -> list[str]:
    """The presets that come with synparse."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in (files("induce") / "presets").iterdir()
        if entry.name.endswith(".toml")
    )


def load_preset(name: str, baseline: str | None = None) -> RunConfig:
    """Settings of the preset ``name``, or of one of its baselines.

    A preset holds the settings that differ from those of the preset that it extends (``extends = "npcfg-small"``) and
    from the defaults of the model. A name that ends in ``.toml`` is a file of the user's; without ``extends`` it
    extends the default preset of its model. A table [baselines.MODEL] of a task's preset replaces [model] and [parse].
    Loads torch. Raises SynparseError if the preset or one of its settings is unknown, or if the file is not TOML.
    """
    content = _read_preset(name)
    model = dict(content["model"])
    if baseline in content.get("baselines", {}):
        model = {"name": baseline, **content["baselines"][baseline]}
        content["parse"] = {"decoder": model.pop("decoder", ParseConfig.decoder)}
        content["source"] = model.pop("source", content["source"])
    model_name = model.pop("name")
    entry = known(models_of(content.get("data", {}).get("task", "")), model_name, "model")
    defaults = {one.name: one.default for one in fields(load(entry.place).Config)}
    try:
        for key in model:
            _value(defaults, "model", key, key)
    except SynparseError as error:
        raise SynparseError(f"{name}: {error}") from None
    return RunConfig(
        preset=name,
        source=content["source"],
        model_name=model_name,
        model={**defaults, **model},
        on_sample=content.get("on-sample", {}),
        **{table: kind(**content.get(table, {})) for table, kind in TABLES.items()},
    )


def _read_preset(name: str, extending: Sequence[str] = ()) -> dict[str, Any]:
    """Tables of a preset with those of the preset that it extends; ``extending`` are the presets that extend it."""
    if name in extending:
        raise SynparseError(f"preset {name} extends itself: {' -> '.join([*extending, name])}")
    own = _user_preset(name) if name.endswith(".toml") else _shipped_preset(name)
    base = own.pop("extends", None)
    if base is None:
        return own
    if name.endswith(".toml") and base.endswith(".toml"):
        base = str(Path(name).parent / base)
    return _extended(_read_preset(base, [*extending, name]), own)


def _extended(base: Mapping[str, Any], preset: Mapping[str, Any]) -> dict[str, Any]:
    """Tables of ``base`` changed by those of ``preset``. Settings of another model and [on-sample] are replaced."""
    tables = dict(base)
    for name, table in preset.items():
        inherited: Any = tables.get(name)
        if isinstance(inherited, dict) and name != "on-sample" and not _is_of_another_model(table, inherited):
            table = _extended(inherited, table) if name == "baselines" else {**inherited, **table}
        tables[name] = table
    return tables


def _is_of_another_model(table: Mapping[str, Any], inherited: Mapping[str, Any]) -> bool:
    return "name" in inherited and table.get("name", inherited["name"]) != inherited["name"]


def _shipped_preset(name: str) -> dict[str, Any]:
    if name not in preset_names():
        hint = nearest(name, preset_names())
        raise UnknownNameError(f"there is no preset {name!r}; {hint} (a file of your own must end in .toml)")
    return tomllib.loads((files("induce") / "presets" / f"{name}.toml").read_text("utf-8"))


def _user_preset(path: str) -> dict[str, Any]:
    """Tables of a user's file, checked; without ``extends`` it extends the default preset of its model."""
    try:
        content = tomllib.loads(Path(path).read_bytes().decode("utf-8"))
    except FileNotFoundError:
        raise SynparseError(f"{path}: there is no such preset") from None
    except (ValueError, OSError, RecursionError) as error:
        raise SynparseError(f"{path}: cannot be read as TOML ({error})") from None
    tables = ("model", "on-sample", *TABLES)
    for key, value in content.items():
        if key in ("source", "extends") and not isinstance(value, str):
            raise SynparseError(f"{path}: {key} must be a text in quotation marks")
        if key in tables and not isinstance(value, dict):
            raise SynparseError(f"{path}: write {key} as a table [{key}]")
        if key not in ("source", "extends", *tables):
            raise SynparseError(f"{path}: there is no table [{key}]; {nearest(key, ('source', 'extends', *tables))}")
    try:
        for table, kind in TABLES.items():
            for key in content.get(table, {}):
                _value(kind(), table, key, key)
        if "extends" not in content:
            model = content.get("model", {}).get("name")
            if not isinstance(model, str):
                hint = 'name a model ([model] name = "onlstm") or a preset to extend (extends = "onlstm-small")'
                raise SynparseError(hint)
            default = known(MODELS, canonical(MODELS, model), "model").preset
            if Path(default) != Path(path):  # a model of an extension may have a user's file as default preset
                content["extends"] = default
    except SynparseError as error:
        raise SynparseError(f"{path}: {error}") from None
    return {"source": path, **content}


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
    if isinstance(old, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
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
    if isinstance(value, tuple):
        shown = ",".join(value) or "(none)"
    parts = [
        f"{'list' if isinstance(value, tuple) else type(value).__name__}, default {shown}",
        " ".join(limits),
        *choices,
        meaning,
    ]
    return f"{name}: " + "; ".join(part for part in parts if part)
