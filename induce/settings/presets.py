"""Settings of a run from a preset (TOML) and ``table.key=value`` changes, and descriptions of the settings."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from induce.registry import (
    LOADERS,
    MODELS,
    OPTIMIZERS,
    PRESET_PACKAGES,
    PURPOSE,
    PURPOSES,
    default_preset,
    load,
    load_extensions,
    models_of,
    train_command,
)
from induce.setting import setting_text
from induce.settings.run import (
    DEFAULT_COMPONENTS,
    FIELDS,
    TABLE_NAMES,
    ParseConfig,
    RunConfig,
    check,
    component_class,
    declared_settings,
    defaults_of,
    effective_settings,
    make_settings,
)
from treebank.base.arguments import canonical, nearest
from treebank.base.errors import SynparseError, UnknownNameError, UsageError
from treebank.base.metadata import abbreviate, read_toml

DEFAULT_MODEL = "onlstm"
SEED = "train.seed"


def preset_names() -> list[str]:
    """The presets that come with synparse."""
    return sorted(_shipped_files())


def _shipped_files() -> dict[str, Traversable]:
    """The files of the presets that come with synparse, by name."""
    load_extensions()  # which can have presets
    folders = (files(package) / "presets" for package in PRESET_PACKAGES)
    entries = (entry for folder in folders for entry in folder.iterdir() if entry.name.endswith(".toml"))
    return {entry.name.removesuffix(".toml"): entry for entry in entries}


def load_preset(name: str, baseline: str | None = None) -> RunConfig:
    """Settings of the preset ``name``, or of one of its baselines.

    A preset holds the settings that differ from those of the preset that it extends (``extends = "npcfg-small"``) and
    from the defaults of the components. A name that ends in ``.toml`` is a file of the user's; without ``extends`` it
    extends the default preset of its model, and the file of its vocabulary is relative to its own folder. A table
    [baselines.MODEL] replaces [model] and [parse]. Loads torch. Raises SynparseError if the preset
    or one of its settings is unknown, if the file is not TOML, or if a setting in a user's file has no effect.
    """
    name = name if name.endswith(".toml") else canonical(preset_names(), name)
    content = _read_preset(name)
    is_baseline = baseline in content.get("baselines", {})
    if is_baseline:
        model = {"name": baseline, **content["baselines"][baseline]}
        content["parse"] = {"decoder": model.pop("decoder", ParseConfig.decoder)}
        content["source"] = model.pop("source", content["source"])
        content["model"] = model
    try:
        config = RunConfig.from_tables(name, content)
        if name.endswith(".toml") and not is_baseline:
            check(config)
            tables = _user_preset(name)
            _check_effect(config, [f"{table}.{key}" for table in TABLE_NAMES for key in tables.get(table, {})])
            changed(config, [f"{key}={value}" for key, value in tables.get("on-sample", {}).items()])
        return config
    except SynparseError as error:
        raise SynparseError(f"{name}: {error}") from None


def _read_preset(name: str, extending: Sequence[str] = ()) -> dict[str, Any]:
    """Tables of a preset with those of the preset that it extends.

    ``extending`` are the presets that extend this one.
    """
    if name in extending:
        raise SynparseError(f"preset {name} extends itself: {' -> '.join([*extending, name])}")
    if name.endswith(".toml"):
        content = _user_preset(name)
    else:
        shipped = _shipped_files()
        name = canonical(shipped, name)
        if name not in shipped:
            hint = nearest(name, shipped)
            raise UnknownNameError(f"there is no preset {name!r}; {hint} (a file of your own must end in .toml)")
        content = tomllib.loads(shipped[name].read_text("utf-8"))
    base = content.pop("extends", None)
    if base is None:
        return content
    if name.endswith(".toml") and base.endswith(".toml"):
        base = str(Path(name).parent / base)
    try:
        return _extended(_read_preset(base, [*extending, name]), content)
    except UnknownNameError as error:
        raise SynparseError(f"{name}: {error}") from None


def _extended(base: Mapping[str, Any], preset: Mapping[str, Any]) -> dict[str, Any]:
    """Tables of ``base`` changed by those of ``preset``. Settings of another component and [on-sample] are replaced."""
    tables = dict(base)
    for name, table in preset.items():
        inherited: Any = tables.get(name)
        if isinstance(inherited, dict) and name != "on-sample":
            component = inherited.get("name", DEFAULT_COMPONENTS.get(name))
            if component is None or table.get("name", component) == component:
                table = _extended(inherited, table) if name == "baselines" else {**inherited, **table}
        tables[name] = table
    return tables


def _user_preset(path: str) -> dict[str, Any]:
    """Tables of a user's file, checked. Without ``extends`` it extends the default preset of its purpose or model."""
    content = read_toml(path)
    tables = (*TABLE_NAMES, "on-sample")
    for key, value in content.items():
        if key in ("source", "extends") and not isinstance(value, str):
            raise SynparseError(f"{path}: {key} must be a text in quotation marks")
        if key in tables and not isinstance(value, dict):
            raise SynparseError(f"{path}: write {key} as a table [{key}]")
        if key in tables and not isinstance(value.get("name", ""), str):
            raise SynparseError(f'{path}: write the name in [{key}] as a text, such as name = "…"')
        if key not in ("source", "extends", *tables):
            raise SynparseError(f"{path}: there is no table [{key}]; {nearest(key, ('source', 'extends', *tables))}")
    if vocabulary := content.get("data", {}).get("vocabulary"):
        content["data"] |= {"vocabulary": str(Path(path).parent / str(vocabulary))}
    try:
        if "extends" not in content:
            model = content.get("model", {}).get("name")
            if not isinstance(model, str):
                hint = 'name a model ([model] name = "onlstm") or a preset to extend (extends = "onlstm-small")'
                raise SynparseError(hint)
            purpose = content.get(PURPOSE, {}).get("name", "")
            default = default_preset(canonical(MODELS, model), purpose)
            # a model of an extension may have a user's file as default preset
            if Path(default).resolve() != Path(path).resolve():
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
    purpose: str = "",
) -> RunConfig:
    """The settings of a run: the preset (by default the model's), then ``table.key=value`` changes in order.

    ``sample`` applies what the preset says about training on the built-in sample, before ``settings``. ``purpose``
    chooses among its models and presets. Raises SynparseError for anything unknown or of the wrong type, offering
    the nearest name.
    """
    if model is not None:
        model = canonical(models_of(purpose), model)
        for other in PURPOSES if not purpose and model not in MODELS else ():
            name = canonical(models_of(other), model)
            if name in models_of(other):
                problem = f"model {name!r} is for {PURPOSE} {other!r}"
                raise UnknownNameError(f"{problem}: {train_command(other)} --model {name}")
        models_of(purpose).get(model)
    preset = preset or default_preset(model or DEFAULT_MODEL, purpose)
    config = load_preset(preset, model)
    if config.purpose_name != purpose:
        problem = f"for {PURPOSE} {config.purpose_name!r}" if config.purpose_name else "for plain text"
        raise UsageError(f"preset {preset!r} is {problem}: {train_command(config.purpose_name)} --preset {preset}")
    if model is not None and config.model_name != model:
        raise UsageError(f"preset {preset!r} is for model {config.model_name!r}, not {model!r}")
    changes = [f"{key}={value}" for key, value in config.on_sample.items()] if sample else []
    config = changed(config, [*changes, *settings])
    settle = PURPOSES.get(purpose).settle
    return changed(load(settle)(config, model), settings) if settle else config


def changed(config: RunConfig, settings: Sequence[str]) -> RunConfig:
    """``config`` after ``table.key=value`` changes, in order.

    Raises SynparseError as `resolve` does, and for a setting that has no effect after all changes.
    """
    for change in settings:
        name, equals, text = (part.strip() for part in change.partition("="))
        table, dot, key = name.partition(".")
        if not (equals and dot and key):
            raise UsageError(f"setting {change!r}: write it as table.key=value, such as train.epochs=10")
        if key == "name" and table in ("loader", "optimizer"):
            kind, values = component_class(table, text), config.values(table)
            shared = {key: values[key] for key in defaults_of(kind) if key in values}  # these keep their values
            config = replace(config, **{f"{table}_name": text, table: make_settings(table, kind, shared)})
            continue
        value = _convert(text, _value(config, table, key, change), change)
        part: Any = config.table(table)
        part = {**part, key: value} if isinstance(part, Mapping) else replace(part, **{key: value})
        config = replace(config, **{FIELDS.get(table, table): part})
    check(config)
    _check_effect(config, settings)
    return config


def _check_effect(config: RunConfig, settings: Sequence[str]) -> None:
    """Raise SynparseError for a change ``table.key=value``, or a ``table.key``, that has no effect in the run."""
    effective = effective_settings(config) if settings else {}
    for change in settings:
        name = change.partition("=")[0].strip()
        table, _, key = name.partition(".")
        if key != "name" and name not in effective:
            _value(config, table, key, change)
            condition = declared_settings(config)[name].metadata["when"]
            raise UsageError(f"setting {change!r} has no effect in this run; it needs {condition.name}")


def setting_of(config: RunConfig, name: str) -> Any:
    """Value of a setting, such as ``train.epochs``. Raises SynparseError if it is unknown, with the nearest name."""
    table, _, key = name.partition(".")
    return config.name_of(table) if key == "name" and table in TABLE_NAMES else _value(config, table, key, name)


def _value(config: RunConfig, table: str, key: str, change: str) -> Any:
    """Value of ``key`` under [table]. Raises UnknownNameError with the nearest name."""
    if table not in TABLE_NAMES:
        raise UnknownNameError(f"setting {change!r}: there is no table {table!r}; {nearest(table, TABLE_NAMES)}")
    values = config.values(table)
    if key not in values:
        others = [f"{other}.{key}" for other in TABLE_NAMES if key in config.values(other)]
        hint = f"did you mean {others[0]!r}?" if others else nearest(key, values)
        component = config.name_of(table)
        owner = f"{table} {component!r}" if component else f"[{table}]"
        raise UnknownNameError(f"setting {change!r}: {owner} has no setting {key!r}; {hint}")
    return values[key]


def _convert(text: str, old: Any, change: str) -> Any:
    """``text`` as a value of the same type as ``old``."""
    if isinstance(old, str):
        return text
    if isinstance(old, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if isinstance(old, bool):
        if text not in ("true", "false"):
            raise UsageError(f"setting {abbreviate(change)}: write true or false")
        return text == "true"
    try:
        return type(old)(text)
    except ValueError:
        kind = "a whole number" if isinstance(old, int) else "a number"
        raise UsageError(f"setting {abbreviate(change)}: {abbreviate(text)} is not {kind}") from None


def sets_seed(change: str) -> bool:
    """Whether a change ``table.key=value`` is one of the seed."""
    return change.partition("=")[0].strip() == SEED


def with_seed(settings: Sequence[str], seed: int | None) -> list[str]:
    """``settings``, followed by the seed if it is not None. Raises UsageError if they set the seed as well."""
    if seed is None:
        return list(settings)
    for change in filter(sets_seed, settings):
        raise UsageError(f"--set {change}: --seed or --seeds gives the seed as well; leave out one of them")
    return [*settings, f"{SEED}={seed}"]


def explain(model: str) -> Iterator[str]:
    """Lines about all settings that have an effect in a run with the default preset of a model.

    A line holds name, type, default, limits or choices, and help of a setting. Loads torch. Raises SynparseError if the
    model is unknown.
    """
    name = canonical(MODELS, model)
    config = load_preset(default_preset(name))
    yield f"defaults of preset {config.preset}; change one with --set table.key=value"
    for setting, declared in effective_settings(config).items():
        yield describe(setting, declared, config.value(setting))
    for table, entries in (("loader", LOADERS), ("optimizer", OPTIMIZERS)):
        yield f'{table}.name: default "{config.name_of(table)}"; {", ".join(entries)}'


def describe(name: str, declared: Any, value: Any) -> str:
    """One line about a setting: type, default ``value``, limits or choices, condition and help."""
    about = declared.metadata
    bounds = {"from": about.get("at_least"), "to": about.get("at_most")}
    limits = [f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None]
    choices = ", ".join(choice or "(none)" for choice in about.get("choices", ()))
    kind = "list" if isinstance(value, tuple) else type(value).__name__
    default = f'"{value}"' if isinstance(value, str) else setting_text(value) or "(none)"
    parts = [f"{kind}, default {default}", " ".join(limits), choices, about.get("help", "")]
    return f"{name}: " + "; ".join(part for part in parts if part)
