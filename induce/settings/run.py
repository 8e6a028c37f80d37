"""All settings of a run: one table for each of its components, checked before any text is read.

[model], [loader] and [optimizer] hold the settings of the named component, which declares them next to its code, and
the table `PURPOSE` those of the purpose. [data], [train] and [parse] are the same in every run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

from induce.data.vocabulary import RECIPES, TOKENS
from induce.decoding.branching_direction import CLEAR_PROBABILITY, Direction, assumed_probability
from induce.decoding.specification import decoder_entry, decoders_of, fitting_decoder, parse_priors
from induce.registry import LOADERS, OPTIMIZERS, PRIORS, PURPOSE, PURPOSES, ModelEntry, load, models_of
from induce.setting import (
    ALWAYS,
    BY_GRADIENTS,
    Condition,
    choice,
    count,
    equal,
    limited,
    setting,
    share,
    unequal,
)
from induce.structures import Structure
from treebank.base.arguments import Registry, nearest
from treebank.base.errors import SynparseError, UnknownNameError, UsageError
from treebank.base.metadata import abbreviate
from treebank.tokenize import TOKENIZATIONS

# conditions of settings; those of structures load torch
TEXT = Condition("a run that learns from text", lambda config: config.purpose.reads_text)
FREQUENT = TEXT & equal("data.vocabulary", "")  # the vocabulary consists of frequent tokens
LEARNS_TREES = Condition(
    "a model that learns trees", lambda config: models_of(config.purpose_name).get(config.model_name).learns_trees
)
DECODES = Condition("a model of trees or heads", lambda config: bool(kind_of(config).gives))
LAYERED = Condition("a model with trees in several layers", lambda config: entry_of(config).layered)
TAKES_PRIORS = Condition(
    "a model of trees or heads", lambda config: any(prior.reads in decodable(config) for prior in PRIORS.values())
)
GIVES_HEADS = Condition("a model of heads", lambda config: bool(decoders_of(decodable(config), "heads")))


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Settings of the text: normalization, tokens, vocabulary and the share to learn from."""

    normalization: str = choice("words", tuple(RECIPES), "normalization recipe", when=TEXT)
    tokenization: str = choice(
        "",
        ("", *TOKENIZATIONS),
        "rule that splits raw text into sentences and words, in training and parsing; empty: the text is split",
        when=TEXT,
    )
    token: str = choice(
        "word",
        tuple(TOKENS),
        "unit of the model: words; classes of words, induced from the training corpus; or characters",
        when=TEXT,
    )
    classes: int = limited(40, 1, 10_000, "number of word classes", when=equal("data.token", "class"))
    vocabulary_size: int = limited(10_000, 3, 1e9, "size of the vocabulary, with two special tokens", when=FREQUENT)
    minimum_count: int = count(2, "occurrences below which a token is unknown", when=FREQUENT)
    vocabulary: str = setting(
        "",
        when=TEXT & unequal("data.token", "class"),
        help="file with one known token per line; empty: frequent tokens",
    )
    unknown: str = choice(
        "one",
        ("one", "shape", "berkeley"),
        "symbols for unknown words: one; one for each shape and suffix; or the classes of the Berkeley parser",
        when=FREQUENT & unequal("data.token", "class"),
    )
    text_share: float = share(1.0, "share of the training sentences to learn from, evenly spread", when=TEXT)
    joining_marks: bool = setting(
        False,
        when=equal("loader.name", "fragments", "spans"),
        help="whether punctuation that occurs in repeated word pairs, such as a hyphen, joins words",
    )
    development_share: float = limited(
        0.05,
        0,
        0.5,
        "share of the training sentences to set aside without a development text: every k-th one, k = 1 / share",
        when=Condition("a run that sets examples aside", lambda config: config.purpose.sets_share_aside),
    )
    trees: str = choice(
        "gold", ("gold", "random"), "trees to learn from; random trees are a baseline", when=LEARNS_TREES
    )
    tree_share: float = share(1.0, "share of the treebank whose trees are used", when=LEARNS_TREES)


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings of training that do not depend on the optimizer."""

    epochs: int = count(40, "maximum number of training epochs", when=BY_GRADIENTS)
    precision: str = choice(
        "float32",
        ("float32", "bfloat16"),
        "number format of the factors of large products in training; sums, weights and scores stay in float32",
        when=BY_GRADIENTS,
    )
    products: str = choice(
        "auto",
        ("auto", "mkl", "onednn"),
        "library that multiplies matrices on a CPU; auto: oneDNN if the processor is not Intel's, oneDNN is exact "
        "on it, and the model's products are large; else MKL",
        when=BY_GRADIENTS,
    )
    seed: int = limited(1, 0, 2**32 - 1, "seed of all random numbers")


@dataclass(frozen=True, kw_only=True)
class ParseConfig:
    """Settings of decoding and of the preferences that it applies."""

    decoder: str = setting(
        "",
        when=DECODES,
        help="decoder; empty: the default of the model; for distances, biased if the training text clearly "
        "branches to the right (parse.branching), else unbiased",
    )
    layer: int = count(1, "layer whose trees are decoded, counted from 1", when=LAYERED)
    distances: str = setting(
        "lm",
        when=LEARNS_TREES,
        help="distances of the language model (lm) or learned from trees (syd)",
    )
    branching: str = choice(
        "text",
        ("text", "right", "left", "mixed"),
        "branching direction for priors and for the default decoder; text: estimated from the training text",
        when=TAKES_PRIORS,
    )
    priors: tuple[str, ...] = setting(
        (),
        when=TAKES_PRIORS,
        help="preferences about trees, NAME:STRENGTH each, applied in this order before decoding",
    )
    head_style: str = choice(
        "",
        ("", "content", "function"),
        "words that the heads are meant to be, for signatures: content words or function words; empty: not stated",
        when=GIVES_HEADS,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "priors", tuple(self.priors))  # TOML and JSON give lists


@dataclass(frozen=True, kw_only=True)
class PurposeSettings:
    """Settings of a purpose. This class itself belongs to parsing, which has no settings."""

    reads_text: ClassVar[bool] = True  # whether settings of the text in [data] have an effect
    sets_share_aside: ClassVar[bool] = True  # whether data.development_share has an effect

    def check_run(self, config: RunConfig) -> None:
        """Raise SynparseError if these settings do not fit the others of the run."""


class ParsingPurpose:
    """The purpose of parsing text."""

    Config = PurposeSettings


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """All settings of a run, stored with each checkpoint."""

    preset: str
    source: str  # paper, table and published score that the preset follows
    model_name: str
    model: Mapping[str, Any]  # settings of the model's own dataclass, which is loaded with torch only
    loader_name: str
    loader: Any  # settings of the loader, as its own dataclass
    optimizer_name: str
    optimizer: Any
    purpose_name: str = ""  # empty: the model learns from text to parse
    purpose: Any = PurposeSettings()
    data: DataConfig = field(default_factory=DataConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    parse: ParseConfig = field(default_factory=ParseConfig)
    on_sample: Mapping[str, Any] = field(default_factory=dict)  # table.key -> value for the built-in sample

    @classmethod
    def from_tables(cls, preset: str, content: Mapping[str, Any]) -> RunConfig:
        """Settings from the tables of a preset, with the defaults of the components. Loads torch.

        Raises SynparseError if a component is unknown, or a setting is unknown, of another type or not allowed.
        """
        tables: dict[str, Any] = {}
        for table, default in DEFAULT_COMPONENTS.items():
            values = dict(content.get(table, {}))
            name = tables[f"{table}_name"] = values.pop("name", default)
            tables[table] = make_settings(table, component_class(table, name), values)
        for table, kind in TABLES.items():
            tables[table] = make_settings(table, kind, content.get(table, {}))
        model = dict(content["model"])
        name = tables["model_name"] = model.pop("name")
        entry = models_of(tables[f"{PURPOSE}_name"]).get(name)
        tables["model"] = asdict(model_settings(load(entry.location).Config, model, name))
        tables |= {"preset": preset, "source": content["source"], "on_sample": content.get("on-sample", {})}
        return cls(**{FIELDS.get(table, table): value for table, value in tables.items()})

    def as_dict(self) -> dict[str, Any]:
        """Settings as plain dictionaries, as a checkpoint stores them."""
        return {STORED.get(name, name): value for name, value in asdict(self).items()}

    def value(self, name: str) -> Any:
        """Value of ``table.key``, or of a name such as ``loader.name``."""
        table, _, key = name.partition(".")
        if key == "name":
            return self.name_of(table)
        return self.values(table)[key]

    def table(self, name: str) -> Any:
        """Settings under [name]."""
        return getattr(self, FIELDS.get(name, name))

    def values(self, table: str) -> dict[str, Any]:
        """Settings under [table] by name."""
        part = self.table(table)
        return dict(part if isinstance(part, Mapping) else vars(part))

    def name_of(self, table: str) -> Any:
        """Name of the component whose settings are under [table], or "" if there is none."""
        return getattr(self, FIELDS.get(f"{table}_name", f"{table}_name"), "")

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> RunConfig:
        """Settings from the dictionary that `as_dict` returned, checked.

        Raises SynparseError if one is missing, unknown, of another type or not allowed.
        """
        try:
            tables = {name: kind(**stored[name]) for name, kind in TABLES.items()}
            for table in COMPONENTS:
                tables[table] = component_class(table, stored[f"{table}_name"])(**stored[table])
            config = cls(**{FIELDS.get(name, name): value for name, value in {**stored, **tables}.items()})
        except KeyError as error:
            raise SynparseError(f"setting {error} is missing") from None
        except TypeError as error:
            raise SynparseError(f"settings are missing or unknown: {error}") from None
        check(config)
        return config


TABLES: dict[str, type] = {"data": DataConfig, "train": TrainConfig, "parse": ParseConfig}
COMPONENTS: dict[str, Registry[Any]] = {PURPOSE: PURPOSES, "loader": LOADERS, "optimizer": OPTIMIZERS}
DEFAULT_COMPONENTS = {PURPOSE: "", "loader": "stream", "optimizer": "adam"}  # of a preset that names no other
TABLE_NAMES = ("model", *COMPONENTS, *TABLES)
STORED = {"purpose": PURPOSE, "purpose_name": f"{PURPOSE}_name"}  # field of `RunConfig` -> name in files
FIELDS = {name: field for field, name in STORED.items()}


def component_class(table: str, name: str) -> type:
    """Dataclass of the settings of a purpose, loader or optimizer. Raises SynparseError for an unknown name."""
    return COMPONENTS[table].get(name).settings


def entry_of(config: RunConfig) -> ModelEntry:
    """Registry entry of the model of a run, or of its encoder."""
    return models_of(config.purpose_name).get(config.model_name)


def kind_of(config: RunConfig) -> Any:
    """Class of the model of a run, or of its encoder. Loads torch."""
    return load(entry_of(config).location)


def decodable(config: RunConfig) -> tuple[type[Structure], ...]:
    """Structures that decoders can read: those that the model gives, and in parsing those of its states."""
    kind = kind_of(config)
    return kind.gives if config.purpose_name else kind.decodable()


def fitting_to(config: RunConfig, direction: Direction | None) -> str:
    """Decoder of [parse], else the default of the model in a language of this ``direction``, or "" without trees.

    Loads torch.
    """
    gives = kind_of(config).gives
    right = branches_right(config, direction)
    return fitting_decoder(config.model_name, gives, config.parse.decoder, branches_right=right) if gives else ""


def branches_right(config: RunConfig, direction: Direction | None) -> bool:
    """Whether the language clearly branches to the right, by [parse] or as estimated from the training text."""
    return assumed_probability(config.parse.branching, direction) >= CLEAR_PROBABILITY


def default_layer(config: RunConfig, distances: str) -> int:
    """Layer that is decoded by default: that of [parse], or for ``distances`` learned from trees the supervised one."""
    layer = config.parse.layer if distances == "lm" else config.model.get("supervised_layer", config.parse.layer)
    return int(layer)


class LayerError(ValueError):
    """A layer that a model does not have."""


def check_layer(config: RunConfig, layer: int) -> None:
    """Raise LayerError if the model of ``config`` has no trees of ``layer``, counted from 1."""
    layered = entry_of(config).layered
    layers = config.model.get("layers", 1) if layered else 1
    if not 1 <= layer <= layers:
        trees = f"layers 1 to {layers}" if layered else "one set of trees, as layer 1"
        raise LayerError(f"there is no layer {layer}; this {config.model_name!r} has {trees}")


def defaults_of(kind: type) -> dict[str, Any]:
    """Default of each setting in a dataclass of settings."""
    return {declared.name: declared.default for declared in fields(kind)}


def make_settings(table: str, kind: type, values: Mapping[str, Any]) -> Any:
    """``values`` as the dataclass ``kind``, checked.

    Raises UsageError for unknown names and for values that are not allowed, and ValueError if the method ``check``
    of the dataclass finds that they do not fit together.
    """
    names = [declared.name for declared in fields(kind)]
    for key in values:
        if key not in names:
            raise UnknownNameError(f"setting {key!r}: [{table}] has no setting {key!r}; {nearest(key, names)}")
    settings = kind(**values)
    check_values(table, settings)
    getattr(settings, "check", lambda: None)()
    return settings


def check_values(table: str, settings: Any) -> None:
    """Raise UsageError for a value of another type, beyond its limits, or not among its choices.

    An integer may stand for a float.
    """
    for declared in fields(settings):
        name, value = f"{table}.{declared.name}", getattr(settings, declared.name)
        kind: Any = type(declared.default)
        about = declared.metadata
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise UsageError(f"setting {name} = {abbreviate(value)} is of another type ({kind.__name__} was expected)")
        if kind is tuple and not all(isinstance(item, str) for item in value):
            raise UsageError(f"setting {name} = {abbreviate(value)} is of another type (names were expected)")
        if about.get("choices") and value not in about["choices"]:
            hint = nearest(str(value), about["choices"])
            raise UnknownNameError(f"setting {name}: there is no {declared.name} {abbreviate(value)}; {hint}")
        low, high = about.get("at_least"), about.get("at_most")
        if low is not None and high is not None and not low <= value <= high:
            raise UsageError(f"setting {name} = {abbreviate(value)} must lie between {low:g} and {high:g}")


def model_settings(kind: type, values: Mapping[str, Any], name: str) -> Any:
    """The settings ``values`` of the model ``name`` as its dataclass ``kind``, checked.

    Raises SynparseError if one is unknown, of another type, beyond its limits, or does not fit the others.
    """
    try:
        return make_settings("model", kind, values)
    except (TypeError, ValueError) as error:
        raise UsageError(f"settings of model {name!r}: {error}") from None


def check(config: RunConfig) -> None:
    """Raise SynparseError for values that are of another type, not allowed, or do not fit together.

    Settings of the model are compared with its dataclass in `model_settings`, because this loads torch.
    """
    for name in ("preset", "source", "model_name", "loader_name", "optimizer_name", "purpose_name"):
        if not isinstance(getattr(config, name), str):
            raise SynparseError(f"setting {name} = {getattr(config, name)!r} is of another type (str was expected)")
    for name in ("model", "on_sample"):
        if not isinstance(getattr(config, name), dict):
            raise SynparseError(f"setting {name} = {getattr(config, name)!r} is of another type (dict was expected)")
    for key, value in config.model.items():
        if not isinstance(value, str | bool | int | float):
            raise SynparseError(f"setting model.{key} = {value!r} is neither a number, a name nor true or false")
    for table in (*COMPONENTS, *TABLES):
        check_values(table, config.table(table))
    entry, data, parse = entry_of(config), config.data, config.parse
    if data.token == "class" and data.vocabulary:
        raise UsageError("data.token=class finds the words of each class itself; leave data.vocabulary out")
    if data.token == "character" and (entry.learns_trees or entry.needs_teacher):
        source = entry.teacher_output or "trees"
        raise UsageError(f"data.token=character: {config.model_name!r} learns from {source}, which are over words")
    if parse.decoder:
        decoder_entry(parse.decoder)
    parse_priors(parse.priors)
    if parse.distances not in ("lm", *entry.sets):
        sets = " or ".join(("lm", *entry.sets))
        raise UsageError(f"parse.distances={parse.distances}: model {config.model_name!r} has {sets}")
    try:
        check_layer(config, parse.layer)
    except LayerError as error:
        raise UsageError(f"setting parse.layer = {parse.layer}: {error}") from None


def declared_settings(config: RunConfig) -> dict[str, Any]:
    """Dataclass fields of all settings of a run, ``table.key`` -> field. Loads torch."""
    tables = {"model": kind_of(config).Config, **{table: config.table(table) for table in (*COMPONENTS, *TABLES)}}
    return {f"{table}.{item.name}": item for table, settings in tables.items() for item in fields(settings)}


def effective_settings(config: RunConfig) -> dict[str, Any]:
    """Dataclass fields of the settings that have an effect in a run, ``table.key`` -> field. Loads torch."""
    declared = declared_settings(config)
    return {name: item for name, item in declared.items() if item.metadata.get("when", ALWAYS).holds(config)}


@dataclass(frozen=True, kw_only=True)
class GradientSettings:
    """Settings of all optimizers."""

    learning_rate: float = limited(0.002, 1e-9, 1e6, "step size of the optimizer")
    weight_decay: float = limited(0.0, 0, 1e3, "L2 penalty on all weights")
    clip: float = limited(0.25, 1e-9, 1e9, "limit of the global gradient norm")


@dataclass(frozen=True, kw_only=True)
class SgdSettings(GradientSettings):
    """SGD whose learning rate falls when the development loss stops falling."""

    decay: float = limited(0.5, 1e-3, 1, "factor on the learning rate when the development loss stops falling")
    patience: int = count(1, "checks without progress before the learning rate falls")
    decays: int = count(4, "decays of the learning rate after which training ends")


@dataclass(frozen=True, kw_only=True)
class AdamSettings(SgdSettings):
    """Adam whose learning rate falls when the development loss stops falling."""

    beta1: float = limited(0.9, 0, 0.9999, "decay rate of the mean of the gradients")
    epsilon: float = limited(1e-8, 1e-30, 1, "constant in the denominator of the update")


@dataclass(frozen=True, kw_only=True)
class NtAsgdSettings(GradientSettings):
    """SGD that switches to averaging (Merity et al. 2017)."""

    nonmonotone: int = count(5, "checks to look back over before the switch to averaging")
    restart_epoch: int = limited(500, -1, 1e9, "epoch at which averaging restarts")


@dataclass(frozen=True, kw_only=True)
class NoSettings:
    """Empty settings for models that learn without gradients and have no optimizer."""
