"""The settings that a run has, and what they may be, checked before torch is loaded.

[model] holds those of the model, which has its own dataclass; the other tables are the dataclasses below.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any

from induce.data.tokens import TOKENS
from induce.registry import ModelEntry, decoder_entry, known, load, models_of, parse_priors
from treebank.base.errors import SynparseError, UnknownNameError
from treebank.base.registry import nearest
from treebank.core.normalization import RECIPES
from treebank.tokenize import TOKENIZATIONS

READINGS = ("stream", "sentences", "fragments", "spans", "masked", "expressions", "demonstrations", "pairs")


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
    token: str = setting(
        "word",
        help="word; class: that of each word, found in the training text; or character: those of the normalised words "
        "and the spaces between them",
    )
    classes: int = setting(40, low=1, high=10_000, help="of words, where token=class")
    vocabulary_size: int = setting(
        10_000, low=3, high=1e9, help="the most frequent tokens kept, the two marks included"
    )
    minimum_count: int = setting(2, low=1, high=1e9, help="rarer tokens are unknown")
    vocabulary: str = setting("", help="a file with the tokens to know, one a line, in the place of the frequent ones")
    unknown: str = setting(
        "one",
        choices=("one", "shape", "berkeley"),
        help="one symbol for all unknown words; one for each shape and suffix; or the classes of the Berkeley parser",
    )
    text_share: float = setting(
        1.0, low=0, high=1, help="of the sentences of the text, how many are learned from, evenly spread"
    )
    joining_marks: bool = setting(
        False, help="fragments, spans: a mark around which pairs of words come again, such as a hyphen, joins words"
    )
    development_share: float = setting(
        0.05, low=0, high=0.5, help="of the training sentences, when no development text is given"
    )
    reading: str = setting(
        "stream",
        choices=READINGS,
        help="stream: one long text whose state is carried on; sentences: each on its own; fragments: sentences with "
        "the places where punctuation stood; spans: the same, and trees of others; masked: words in them to be found; "
        "expressions, demonstrations, pairs: those of a task",
    )
    trees: str = setting(
        "gold",
        choices=("gold", "random"),
        help="what a model that learns from trees is given; random ones are for comparison",
    )
    tree_share: float = setting(1.0, low=0, high=1, help="of the sentences with trees, how many keep theirs")
    task: str = setting("", help="listops, logic, craft or similarity: examples are learned from instead of text")
    expressions: int = setting(20_000, low=1, high=1e9, help="of a task: examples to generate where no file is given")
    longest: int = setting(0, low=0, high=1e9, help="listops: most tokens of an expression, 0 for any number")
    operators: int = setting(6, low=0, high=1e9, help="logic: most operators of a formula")
    sketches: str = setting("AC CD DA", help="craft: the tasks, each by the letters of its subtasks or by name")
    partition: str = setting("full", help="logic: A, B or C leave out what table 4 says")
    pretrained: str = setting("", help="similarity: the run whose model and words are begun with; empty: none")


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
    crossing_penalty: float = setting(
        0.0, low=0, high=1e3, help="fragments: nats that a span costs which crosses a bracket or breaks up joined words"
    )
    focus_penalty: float = setting(
        4.0, low=0, high=1e3, help="nats that a span costs which no reference tree has (--teacher)"
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
    precision: str = setting(
        "float32",
        choices=("float32", "bfloat16"),
        help="bfloat16: factors of large products are rounded to it while the model learns; sums, weights and scores "
        "stay in float32",
    )
    products: str = setting(
        "auto",
        choices=("auto", "mkl", "onednn"),
        help="library that multiplies matrices on a CPU; auto: oneDNN if the processor is not Intel's, oneDNN is exact "
        "on it, and the model's products are large; else MKL",
    )
    seed: int = setting(1, low=0, high=2**32 - 1)


@dataclass(frozen=True, kw_only=True)
class ParseConfig:
    """How trees are read off the trained model."""

    decoder: str = setting(
        "",
        help="empty: the default for the model's structure; for distances, biased if the training text clearly "
        "branches to the right (parse.branching), else unbiased",
    )
    layer: int = setting(1, low=1, high=1e9, help="from 1, as the papers count")
    distances: str = setting("lm", help="lm: those of the language model; syd: those that learned from trees")
    branching: str = setting(
        "text",
        choices=("text", "right", "left"),
        help="branching direction for priors and for the default decoder; text: estimated from the training text",
    )
    priors: tuple[str, ...] = setting(
        (), help="preferences about trees, NAME:STRENGTH each, applied in this order before decoding"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "priors", tuple(self.priors))  # TOML and JSON give lists


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
        check(config)
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


def check(config: RunConfig) -> None:
    """Raises SynparseError for values of another type than their settings', and for those that no run could work with.

    The model's own settings are compared with its class (`model_settings`), which is not imported here.
    """
    _check_types(config)
    _check_values(config)


def _check_types(config: RunConfig) -> None:
    """Raises SynparseError for a value that is not of its setting's type; an int may stand for a float."""
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
        low, high = limits_of(known[key], value)
        if low is not None and high is not None and not low <= value <= high:
            raise SynparseError(f"setting model.{key} = {value} must lie between {low:g} and {high:g}")
    try:
        settings = kind(**given)
        getattr(settings, "check", lambda: None)()
    except (TypeError, ValueError) as error:
        raise SynparseError(f"settings of model {name!r}: {error}") from None
    return settings


def limits_of(one: Any, value: Any) -> tuple[float | None, float | None]:
    """The limits of a model's setting: its own, else those that its type and name suggest."""
    if isinstance(value, str | bool):
        return None, None
    if one.metadata.get("low") is not None:
        return one.metadata["low"], one.metadata["high"]
    if one.name.endswith("dropout"):
        return 0.0, 0.99
    return (1, 1e9) if isinstance(value, int) else (0.0, 1e9)


def _check_values(config: RunConfig) -> None:
    """Raises SynparseError for values that no run could work with."""
    entry = known(models_of(config.data.task), config.model_name, "model")
    known(RECIPES, config.data.normalization, "normalization")
    known(TOKENS, config.data.token, "token")
    if config.data.token == "class" and config.data.vocabulary:
        raise SynparseError("data.token=class finds the words of each class itself; leave data.vocabulary out")
    if config.data.token == "character" and (entry.learns_trees or entry.needs_teacher):
        given = entry.teacher_output or "trees"
        raise SynparseError(
            f"data.token={config.data.token}: {config.model_name!r} learns from {given}, which are over words"
        )
    if config.parse.decoder:
        decoder_entry(config.parse.decoder)
    parse_priors(config.parse.priors)
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
