"""Settings of a run: a preset (TOML), changed by ``table.key=value``, checked before torch is loaded.

The [model] table of a preset names every setting of its model, so that a misspelt one is found without importing the
model; the other tables are the dataclasses below.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from induce.data.tokens import TOKENS
from induce.registry import DECODERS, MODELS, TASKS, ModelEntry, canonical, known, load, model_class, models_of
from treebank.errors import SynparseError, UnknownNameError, nearest
from treebank.normalize import RECIPES
from treebank.tokenizing import TOKENIZATIONS

DEFAULT_MODEL = "onlstm"
READINGS = ("stream", "sentences", "fragments", "masked", "expressions", "demonstrations")


def setting(
    default: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: Iterable[str] = (),
    help: str = "",
) -> Any:
    """A field of a table of settings: its default, its limits or choices, and what it means."""
    metadata = {"low": low, "high": high, "choices": tuple(choices), "help": help}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """How text becomes a stream of word numbers."""

    normalization: str = setting("words", help="a recipe: words, cased, ptb, mikolov, tags or raw")
    tokenization: str = setting(
        "",
        choices=("", *TOKENIZATIONS),
        help="the rule that splits raw text into sentences and words, for training and parsing; empty: it is split",
    )
    token: str = setting("word", help="word, or character: those of the normalised words and the spaces between them")
    vocabulary_size: int = setting(
        10_000, low=3, high=1e9, help="the most frequent tokens kept, the two marks included"
    )
    minimum_count: int = setting(2, low=1, high=1e9, help="rarer tokens are unknown")
    vocabulary: str = setting("", help="a file with the tokens to know, one a line, in the place of the frequent ones")
    unknown: str = setting(
        "one", choices=("one", "shape"), help="one symbol for all unknown words, or one for each shape and suffix"
    )
    development_share: float = setting(
        0.05, low=0, high=0.5, help="of the training sentences, when no development text is given"
    )
    reading: str = setting(
        "stream",
        choices=READINGS,
        help="stream: one long text whose state is carried on; sentences: each on its own; fragments: sentences with "
        "the places where punctuation stood; masked: words in them to be found; "
        "expressions, demonstrations: those of a task",
    )
    trees: str = setting(
        "gold",
        choices=("gold", "random"),
        help="what a model that learns from trees is given; random ones are for comparison",
    )
    tree_share: float = setting(1.0, low=0, high=1, help="of the sentences with trees, how many keep theirs")
    task: str = setting("", help="listops, logic or craft: examples are learned from instead of text")
    expressions: int = setting(20_000, low=1, high=1e9, help="of a task: examples to generate where no file is given")
    longest: int = setting(0, low=0, high=1e9, help="listops: most tokens of an expression, 0 for any number")
    operators: int = setting(6, low=0, high=1e9, help="logic: most operators of a formula")
    sketches: str = setting("AC CD DA", help="craft: the tasks, each by the letters of its subtasks or by name")
    partition: str = setting("full", help="logic: A, B or C leave out what table 4 says")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How a model is trained."""

    optimizer: str = setting(
        "adam",
        choices=("adam", "sgd", "nt-asgd"),
        help="nt-asgd: SGD with the published switch to averaging",
    )
    learning_rate: float = setting(0.002, low=1e-9, high=1e6)
    weight_decay: float = setting(1.2e-6, low=0, high=1e3)
    clip: float = setting(0.25, low=1e-9, high=1e9, help="global gradient norm")
    batch_size: int = setting(32, low=1, high=1e6, help="parallel columns of the stream, or sentences")
    bucketed: bool = setting(False, help="sentences: a batch holds sentences of like length, or consecutive ones")
    batch_words: int = setting(
        4096, low=1, high=1e9, help="masked, fragments: a batch of sentences has at most this many words"
    )
    longest: int = setting(0, low=0, high=1e9, help="fragments: longer sentences are not learned from; 0: all are")
    first_longest: int = setting(0, low=0, high=1e9, help="fragments: the same in the first pass; 0: as in all")
    longer: int = setting(2, low=0, high=1e9, help="fragments: words by which that grows in each pass")
    steady: float = setting(
        1.0,
        low=0,
        high=1,
        help="fragments: share of the training after which the learning rate falls evenly to 0.05 of it",
    )
    focus_penalty: float = setting(
        4.0, low=0, high=1e3, help="nats that a span costs which no reference tree has (--focus)"
    )
    focus_share: float = setting(0.4, low=0, high=1, help="share of the training under that penalty")
    focus_fade: float = setting(0.0, low=0, high=1, help="share of the training in which it falls to 0 after that")
    segment_length: int = setting(35, low=2, high=1e6, help="steps of truncated back-propagation, on average")
    vary_segments: bool = setting(True, help="draw each length anew (Merity et al. 2017), or keep to the average")
    epochs: int = setting(40, low=1, high=1e9)
    beta1: float = setting(0.9, low=0, high=0.9999, help="adam: memory of its mean of gradients")
    epsilon: float = setting(1e-8, low=1e-30, high=1, help="adam: least divisor")
    decay: float = setting(
        0.5, low=1e-3, high=1, help="adam, sgd: factor on the learning rate when the development loss stops falling"
    )
    patience: int = setting(1, low=1, high=1e9, help="adam, sgd: checks without progress before that")
    decays: int = setting(4, low=1, high=1e9, help="adam, sgd: training ends after this many")
    nonmonotone: int = setting(5, low=1, high=1e9, help="nt-asgd: checks looked back over before the switch")
    restart_epoch: int = setting(500, help="nt-asgd: where averaging starts anew")
    development_batch_size: int = setting(10, low=1, high=1e6)
    products: str = setting(
        "auto",
        choices=("auto", "right", "left", "mkl", "onednn", "bfloat16"),
        help="of a recurrence's few rows with its large matrix; auto: the way that measuring finds fastest",
    )
    seed: int = setting(1, low=0, high=2**32 - 1)


@dataclass(frozen=True, kw_only=True)
class ParseConfig:
    """How trees are read off the trained model."""

    decoder: str = setting("", help="empty: the first one that reads what the model gives")
    layer: int = setting(1, low=1, high=1e9, help="from 1, as the papers count")
    distances: str = setting("lm", help="lm: those of the language model; syd: those that learned from trees")


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that decides a run; stored whole with the checkpoint."""

    preset: str
    source: str  # paper, table, published score: what the preset's values come from
    model_name: str
    model: Mapping[str, Any]
    data: DataConfig = field(default_factory=DataConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    parse: ParseConfig = field(default_factory=ParseConfig)
    on_sample: Mapping[str, Any] = field(
        default_factory=dict
    )  # table.key -> value when the text is the built-in sample

    def as_dict(self) -> dict[str, Any]:
        """Plain dictionaries, as a checkpoint stores them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> RunConfig:
        """The settings that ``as_dict`` wrote. SynparseError: one is missing, unknown or of another type."""
        try:
            tables = {name: kind(**stored[name]) for name, kind in TABLES.items()}
            config = cls(**{**stored, **tables})
        except KeyError as error:
            raise SynparseError(f"setting {error} is missing") from None
        except TypeError as error:
            raise SynparseError(f"settings are missing or unknown: {error}") from None
        _check_types(config)
        _check(config)
        return config


def entry_of(config: RunConfig) -> ModelEntry:
    """The entry of the model that a run trains; of its encoder where it learns a task."""
    return known(models_of(config.data.task), config.model_name, "model")


def kind_of(config: RunConfig) -> Any:
    """The class of the model that a run trains; of its encoder where it learns a task. Loads torch."""
    return load(entry_of(config).place)


def default_layer(config: RunConfig, distances: str) -> int:
    """The layer that is parsed where none is named: of ``distances`` learned from trees the one that learned them."""
    layer = config.parse.layer if distances == "lm" else config.model.get("supervised_layer", config.parse.layer)
    return int(layer)


def check_layer(config: RunConfig, layer: int) -> None:
    """Raises ValueError if the model of ``config`` has no trees of ``layer``, counted from 1."""
    layered = entry_of(config).layered
    layers = config.model.get("layers", 1) if layered else 1
    if not 1 <= layer <= layers:
        trees = f"layers 1 to {layers}" if layered else "one set of trees, as layer 1"
        raise ValueError(f"there is no layer {layer}; this {config.model_name!r} has {trees}")


TABLES: dict[str, Any] = {"data": DataConfig, "train": TrainConfig, "parse": ParseConfig}


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
    except (ValueError, OSError) as error:
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
        known(models_of(task), model, f"model for task {task!r}" if task else "model")
    usual = TASKS[task].preset if task else MODELS[model or DEFAULT_MODEL].preset
    config = load_preset(preset or usual, model)
    if config.data.task != task:
        wanted = f"for task {config.data.task!r}" if config.data.task else "for plain text"
        hint = f"; add --task {config.data.task}" if not task else ""
        raise SynparseError(f"preset {preset!r} is {wanted}{hint}")
    if model is not None and config.model_name != model:
        raise SynparseError(f"preset {preset!r} is for model {config.model_name!r}, not {model!r}")
    changes = [f"{key}={value}" for key, value in config.on_sample.items()] if sample else []
    return changed(config, [*changes, *settings])


def changed(config: RunConfig, settings: Sequence[str]) -> RunConfig:
    """``config`` after ``table.key=value`` changes in order. Raises SynparseError as ``resolve`` does."""
    for change in settings:
        config = _apply(config, change)
    _check_types(config)
    _check(config)
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


def _check_types(config: RunConfig) -> None:
    """Raises SynparseError for a value that is not of its setting's type; an int may stand for a float.

    The model's own settings are compared with its class (`check_model`), which is not imported here.
    """
    expected: dict[str, tuple[Any, Any]] = {}
    for name in ("preset", "source", "model_name"):
        expected[name] = (getattr(config, name), str)
    for name in ("model", "on_sample"):
        expected[name] = (getattr(config, name), dict)
    for table, kind in TABLES.items():
        part = getattr(config, table)
        expected |= {f"{table}.{one.name}": (getattr(part, one.name), type(one.default)) for one in fields(kind)}
    for name, (value, kind) in expected.items():
        _check_type(name, value, kind)
    for key, value in config.model.items():
        if not isinstance(value, str | bool | int | float):
            raise SynparseError(f"setting model.{key} = {value!r} is neither a number, a name nor true or false")


def _check_type(name: str, value: Any, kind: type) -> None:
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise SynparseError(f"setting {name} = {value!r} is of another type ({kind.__name__} was expected)")


def model_settings(kind: type, given: Mapping[str, Any], name: str) -> Any:
    """The settings ``given`` of the model called ``name`` as ``kind``, its own dataclass, checked.

    Raises SynparseError where one is missing, unknown, of another type, beyond its limits, or does not fit the others.
    """
    known = {one.name: one for one in fields(kind)}
    for key, value in given.items():
        if key not in known:
            raise SynparseError(f"setting model.{key}: the model has no such setting; {nearest(key, known)}")
        if (default := known[key].default) is not MISSING:
            _check_type(f"model.{key}", value, type(default))
    for key, value in given.items():
        low, high = _limits_of(known[key], value)
        if low is not None and high is not None and not low <= value <= high:
            raise SynparseError(f"setting model.{key} = {value} must lie between {low:g} and {high:g}")
    try:
        settings = kind(**given)
        getattr(settings, "check", lambda: None)()
    except (TypeError, ValueError) as error:
        raise SynparseError(f"settings of model {name!r}: {error}") from None
    return settings


def _limits_of(one: Any, value: Any) -> tuple[float | None, float | None]:
    """The limits of a model's setting: its own, else those that its type and name suggest."""
    if isinstance(value, str | bool):
        return None, None
    if one.metadata.get("low") is not None:
        return one.metadata["low"], one.metadata["high"]
    if one.name.endswith("dropout"):
        return 0.0, 0.99
    return (1, 1e9) if isinstance(value, int) else (0.0, 1e9)


def _check(config: RunConfig) -> None:
    """Raises SynparseError for values that no run could work with."""
    entry = known(models_of(config.data.task), config.model_name, "model")
    known(RECIPES, config.data.normalization, "normalization")
    known(dict.fromkeys(TOKENS), config.data.token, "token")
    if config.data.token != "word" and entry.learns_trees:
        raise SynparseError(
            f"data.token={config.data.token}: {config.model_name!r} learns from trees, which are over words"
        )
    if config.parse.decoder:
        known(DECODERS, config.parse.decoder, "decoder")
    if config.parse.distances not in ("lm", *entry.sets):
        sets = " or ".join(("lm", *entry.sets))
        raise SynparseError(f"parse.distances={config.parse.distances}: model {config.model_name!r} has {sets}")
    for table, kind in TABLES.items():
        part = getattr(config, table)
        _check_limits(table, [(one, getattr(part, one.name)) for one in fields(kind)])
    try:
        check_layer(config, config.parse.layer)
    except ValueError as error:
        raise SynparseError(f"setting parse.layer = {config.parse.layer}: {error}") from None


def _check_limits(table: str, values: Iterable[tuple[Any, Any]]) -> None:
    """Raises SynparseError for a value, given with its field, that is not among the choices or within the limits."""
    for one, value in values:
        low, high = one.metadata.get("low"), one.metadata.get("high")
        choices = one.metadata.get("choices")
        if choices and value not in choices:
            hint = nearest(str(value), choices)
            raise UnknownNameError(f"setting {table}.{one.name}: there is no {one.name} {value!r}; {hint}")
        if low is not None and high is not None and not low <= value <= high:
            raise SynparseError(f"setting {table}.{one.name} = {value} must lie between {low:g} and {high:g}")


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
                yield _explained(f"{table}.{one.name}", values[one.name], one.metadata)


def _explained(name: str, value: Any, about: Mapping[str, Any]) -> str:
    limits = [f"{word} {about[key]:g}" for key, word in (("low", "from"), ("high", "to")) if about.get(key) is not None]
    choices = [", ".join(choice or "(none)" for choice in about.get("choices") or ())]
    shown = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else f"{value}"
    parts = [f"{type(value).__name__}, default {shown}", " ".join(limits), *choices, about.get("help", "")]
    return f"{name}: " + "; ".join(part for part in parts if part)
