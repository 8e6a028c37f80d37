"""Settings of a run: a preset (TOML), changed by ``table.key=value``, checked before torch is loaded.

The [model] table of a preset names every setting of its model, so that a misspelt one is found without importing the
model; the other tables are the dataclasses below.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.resources import files
from typing import Any

from treebank.errors import SynparseError, nearest

DEFAULT_PRESETS = {
    "onlstm": "onlstm-small",
    "onlstm-syd": "onlstm-syd-small",
    "lstm": "lstm-small",
    "ordered-memory": "ordered-memory-small",
    "prpn": "prpn-small",
    "prpn-syd": "prpn-syd-small",
    "structformer": "structformer-small",
    "transformer": "transformer-small",
    "udgn": "udgn-small",
}  # the preset of each model that suits a CPU
DEFAULT_MODEL = "onlstm"
DISTANCE_SETS = ("lm", "syd")  # of a model that learns from trees, too
TASK_PRESETS = {"listops": "listops-small", "logic": "logic-small"}  # the same for each task


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """How text becomes a stream of word numbers."""

    normalization: str = "words"  # a recipe of treebank.normalize
    unit: str = "word"  # word, or character: those of the normalised words and the spaces between them
    vocabulary_size: int = 10_000  # the most frequent tokens kept, the two marks included
    minimum_count: int = 2  # rarer tokens are unknown
    development_share: float = 0.05  # of the training sentences, when no development text is given
    # stream: one long text whose state is carried on; sentences: each on its own; masked: words in them to be found;
    # expressions: those of a task
    reading: str = "stream"
    trees: str = "gold"  # what a model that learns from trees is given: gold, or random ones for comparison
    tree_share: float = 1.0  # of the sentences with trees, how many keep theirs
    task: str = ""  # listops or logic: labelled expressions are learned from instead of text
    expressions: int = 20_000  # of a task: examples to generate where no file is given
    longest: int = 0  # listops: most tokens of an expression, 0 for any number
    operators: int = 6  # logic: most operators of a formula
    partition: str = "full"  # logic: A, B or C leave out what table 4 says


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How a model is trained."""

    optimizer: str = "adam"  # adam, or nt-asgd: SGD with the published switch to averaging
    learning_rate: float = 0.002
    weight_decay: float = 1.2e-6
    clip: float = 0.25  # global gradient norm
    batch_size: int = 32  # parallel columns of the stream, or sentences
    alike: bool = False  # sentences: a batch holds sentences of like length, or consecutive ones
    batch_words: int = 4096  # masked: a batch of sentences has fewer words than this
    segment_length: int = 35  # steps of truncated back-propagation, on average
    vary_segments: bool = True  # draw each length anew (Merity et al. 2017), or keep to the average
    epochs: int = 40
    beta1: float = 0.9  # adam: memory of its mean of gradients
    epsilon: float = 1e-8  # adam: least divisor
    decay: float = 0.5  # adam: factor on the learning rate when the development loss stops falling
    patience: int = 1  # adam: checks without progress before that
    decays: int = 4  # adam: training ends after this many
    nonmonotone: int = 5  # nt-asgd: checks looked back over before the switch
    restart_epoch: int = 500  # nt-asgd: where averaging starts anew
    development_batch_size: int = 10
    seed: int = 1


@dataclass(frozen=True, kw_only=True)
class ParseConfig:
    """How trees are read off the trained model."""

    decoder: str = "unbiased"
    layer: int = 2  # from 1, as the paper counts
    distances: str = "lm"  # lm: those that the language model uses; syd: those that learned from trees


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


TABLES: dict[str, Any] = {"data": DataConfig, "train": TrainConfig, "parse": ParseConfig}


def preset_names() -> list[str]:
    """The presets that come with synparse."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in (files("induce") / "presets").iterdir()
        if entry.name.endswith(".toml")
    )


def load_preset(name: str, baseline: str | None = None) -> RunConfig:
    """The settings of preset ``name``; with the [baselines.…] table of a task's preset in the place of its [model]."""
    if name not in preset_names():
        raise SynparseError(f"there is no preset {name!r}; {nearest(name, preset_names())}")
    content = tomllib.loads((files("induce") / "presets" / f"{name}.toml").read_text("utf-8"))
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
    from induce.registry import ENCODERS, MODELS, TASKS, known

    if task:
        known(TASKS, task, "task")
    if model is not None:
        known(ENCODERS if task else MODELS, model, f"model for task {task!r}" if task else "model")
    config = load_preset(preset or (TASK_PRESETS[task] if task else DEFAULT_PRESETS[model or DEFAULT_MODEL]), model)
    if config.data.task != task:
        found = f"for task {config.data.task!r}" if config.data.task else "for plain text"
        raise SynparseError(f"preset {preset!r} is {found}" + (f"; add --task {config.data.task}" if not task else ""))
    if model is not None and config.model_name != model:
        raise SynparseError(f"preset {preset!r} is for model {config.model_name!r}, not {model!r}")
    changes = [f"{key}={value}" for key, value in config.on_sample.items()] if sample else []
    return changed(config, [*changes, *settings])


def changed(config: RunConfig, settings: Sequence[str]) -> RunConfig:
    """``config`` after ``table.key=value`` changes in order. Raises SynparseError as ``resolve`` does."""
    for change in settings:
        config = _apply(config, change)
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
        raise SynparseError(f"setting {asked!r}: there is no table {table!r}; {nearest(table, ('model', *TABLES))}")
    return config.model if table == "model" else getattr(config, table)


def _value(part: Any, table: str, key: str, asked: str) -> Any:
    """The value of ``key`` in the settings ``part`` under [table]."""
    known = part if isinstance(part, Mapping) else {one.name: getattr(part, one.name) for one in fields(part)}
    if key not in known:
        raise SynparseError(f"setting {asked!r}: [{table}] has no setting {key!r}; {nearest(key, known)}")
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
    """Raises SynparseError for a value that is not of its setting's type; an int may stand for a float."""
    found: dict[str, tuple[Any, Any]] = {}
    for name in ("preset", "source", "model_name"):
        found[name] = (getattr(config, name), str)
    for name in ("model", "on_sample"):
        found[name] = (getattr(config, name), dict)
    for table, kind in TABLES.items():
        part = getattr(config, table)
        found |= {f"{table}.{one.name}": (getattr(part, one.name), type(one.default)) for one in fields(kind)}
    if isinstance(config.model, dict):
        usual = load_preset(config.preset, config.model_name).model if config.preset in preset_names() else {}
        for key, value in config.model.items():
            kind = type(usual.get(key, 0.0))
            found[f"model.{key}"] = (value, kind if kind in (str, bool) else float)
    for name, (value, kind) in found.items():
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise SynparseError(f"setting {name} = {value!r} is of another type ({kind.__name__} was expected)")


def _check(config: RunConfig) -> None:
    """Raises SynparseError for values that no run could work with."""
    from induce.data.tokens import UNITS
    from induce.registry import DECODERS, ENCODERS, MODELS, SUPERVISED, TASKS, check_layer, known
    from treebank.normalize import RECIPES

    known(ENCODERS if config.data.task else MODELS, config.model_name, "model")
    known({"": "", **TASKS}, config.data.task, "task")
    known(RECIPES, config.data.normalization, "normalization")
    known(dict.fromkeys(UNITS), config.data.unit, "unit")
    if config.data.unit != "word" and config.model_name in SUPERVISED:
        raise SynparseError(
            f"data.unit={config.data.unit}: {config.model_name!r} learns from trees, which are over words"
        )
    known(DECODERS, config.parse.decoder, "decoder")
    known(dict.fromkeys(("adam", "nt-asgd")), config.train.optimizer, "optimizer")
    known(dict.fromkeys(("gold", "random")), config.data.trees, "kind of trees")
    known(dict.fromkeys(DISTANCE_SETS), config.parse.distances, "set of distances")
    known(dict.fromkeys(("stream", "sentences", "masked", "expressions")), config.data.reading, "reading")
    for table, key, low, high in _LIMITS:
        value = getattr(getattr(config, table), key)
        if not low <= value <= high:
            raise SynparseError(f"setting {table}.{key} = {value} must lie between {low:g} and {high:g}")
    for key, value in config.model.items():
        if isinstance(value, str | bool):
            continue  # the model checks these
        if key.endswith("dropout"):
            low, high = 0.0, 0.99
        elif key.endswith(("blocks", "tags")):
            low, high = 0, 1e9
        elif isinstance(value, int):
            low, high = 1, 1e9
        else:
            low, high = 0.0, 1e9
        if not low <= value <= high:
            raise SynparseError(f"setting model.{key} = {value} must lie between {low:g} and {high:g}")
    try:
        check_layer(config, config.parse.layer)
    except ValueError as error:
        raise SynparseError(f"setting parse.layer = {config.parse.layer}: {error}") from None


_LIMITS: tuple[tuple[str, str, float, float], ...] = (
    ("data", "vocabulary_size", 3, 1e9),
    ("data", "minimum_count", 1, 1e9),
    ("data", "development_share", 0.0, 0.5),
    ("data", "tree_share", 0.0, 1.0),
    ("data", "expressions", 1, 1e9),
    ("data", "longest", 0, 1e9),
    ("data", "operators", 0, 1e9),
    ("train", "learning_rate", 1e-9, 1e6),
    ("train", "weight_decay", 0.0, 1e3),
    ("train", "clip", 1e-9, 1e9),
    ("train", "batch_size", 1, 1e6),
    ("train", "batch_words", 1, 1e9),
    ("train", "segment_length", 2, 1e6),
    ("train", "epochs", 1, 1e9),
    ("train", "beta1", 0.0, 0.9999),
    ("train", "epsilon", 1e-30, 1.0),
    ("train", "decay", 1e-3, 1.0),
    ("train", "patience", 1, 1e9),
    ("train", "decays", 1, 1e9),
    ("train", "nonmonotone", 1, 1e9),
    ("train", "development_batch_size", 1, 1e6),
    ("train", "seed", 0, 2**32 - 1),
)
