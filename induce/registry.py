"""Components by the names that users type: location of the code, and facts that are needed before torch loads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from induce.structures import (
    Brackets,
    Distances,
    HeadDistribution,
    Heads,
    Heights,
    SpanScores,
    StackDecisions,
    Structure,
)
from treebank.base.errors import SynparseError, UnknownNameError
from treebank.base.registry import nearest

if TYPE_CHECKING:
    from induce.data.batches import Batch

Entry = TypeVar("Entry")
Output = Literal["trees", "heads"]


@dataclass(frozen=True)
class ModelEntry:
    """A model, or an encoder of a task."""

    place: str  # "module:class"
    preset: str = ""  # default preset, for a CPU: a name, or a path that ends in .toml
    layered: bool = False  # whether each layer has trees of its own
    learns_trees: bool = False  # whether it can also learn from a treebank
    sets: tuple[str, ...] = ()  # sets of distances besides those of the language model
    teacher_output: Output | None = None  # structures of other parsers that it can learn from
    needs_teacher: bool = False  # whether it learns only from a teacher


@dataclass(frozen=True)
class DecoderOption:
    """An option of a decoder: a nonnegative number, or one of ``choices``.

    It is written after the name of the decoder, as in ``nary:tolerance=0.5``, or by its value alone, ``nary:0.5``.
    """

    name: str
    choices: tuple[str, ...] = ()

    def parse(self, text: str) -> Any:
        """The value in ``text``. Raises ValueError, with the valid values, if it is not valid."""
        if self.choices:
            if text not in self.choices:
                raise ValueError(f"{self.name} is {' or '.join(self.choices)}, not {text!r}")
            return text
        value = _number(text)
        if value < 0:
            raise ValueError(f"{self.name} is a number from 0 on, not {text!r}")
        return value


@dataclass(frozen=True)
class DecoderEntry:
    """A function from a row of a structure to brackets, or to heads."""

    place: str  # "module:function"
    reads: type[Structure]
    gives: Output = "trees"
    together: str = ""  # "module:function" from rows of several sentences to their trees or heads, if faster
    options: tuple[DecoderOption, ...] = ()  # keyword arguments of the function


@dataclass(frozen=True)
class PriorEntry:
    """A function from the scores of one sentence to scores (`induce.decoding.priors`)."""

    place: str  # "module:function"
    reads: type[Structure]
    max_strength: float = 100.0


@dataclass(frozen=True)
class Prior:
    """A prior with its strength, written ``NAME:STRENGTH``."""

    name: str
    strength: float

    def __str__(self) -> str:
        return f"{self.name}:{self.strength:g}"


@dataclass(frozen=True)
class TaskEntry:
    """A task with labeled examples or demonstrations."""

    place: str  # "module:class"
    preset: str
    models: Mapping[str, ModelEntry]  # the choices of --model for this task
    examples: str = "induce.tasks.examples:load_examples"  # "module:function" that loads the training examples
    score: str = "induce.tasks.evaluation:score_task"  # "module:function" of ``synparse task eval``
    parser: str = "induce.parsing.model_parser:ModelParser"  # "module:class" of the parser from lines to trees
    classifier: str = "induce.tasks.classifier:make_classifier"  # "module:function" that makes a model from an encoder
    settle: str = ""  # "module:function" from settings and --model to dependent settings

    @property
    def settings(self) -> type:
        """Dataclass of its settings."""
        kind: type = load(self.place).Config
        return kind


@dataclass(frozen=True)
class LoaderEntry:
    """A way to cut training data into batches (``loader.name``)."""

    place: str  # "module:class" of the loader

    @property
    def batches(self) -> tuple[type[Batch], ...]:
        """Types of its batches, with and without supervision."""
        types: tuple[type[Batch], ...] = load(self.place).makes
        return types

    @property
    def settings(self) -> type:
        """Dataclass of its settings."""
        kind: type = load(self.place).Config
        return kind


@dataclass(frozen=True)
class OptimizerEntry:
    """An optimizer (``optimizer.name``)."""

    place: str  # "module:class" of its settings

    @property
    def settings(self) -> type:
        """Dataclass of its settings."""
        kind: type = load(self.place)
        return kind


MODELS: dict[str, ModelEntry] = {
    "onlstm": ModelEntry("induce.models.language.onlstm:OnLstm", "onlstm-small", layered=True),
    "onlstm-syd": ModelEntry(
        "induce.models.language.onlstm_syd:OnLstmSyd",
        "onlstm-syd-small",
        layered=True,
        learns_trees=True,
        sets=("syd",),
    ),
    "lstm": ModelEntry("induce.models.language.lstm:Lstm", "lstm-small"),
    "ordered-memory": ModelEntry("induce.models.language.ordered_memory:OrderedMemory", "ordered-memory-small"),
    "prpn": ModelEntry("induce.models.language.prpn:Prpn", "prpn-small"),
    "prpn-syd": ModelEntry(
        "induce.models.language.prpn_syd:PrpnSyd", "prpn-syd-small", learns_trees=True, sets=("syd",)
    ),
    "npcfg": ModelEntry("induce.models.grammars.npcfg:NeuralPcfg", "npcfg-small", teacher_output="trees"),
    "cpcfg": ModelEntry("induce.models.grammars.cpcfg:CompoundPcfg", "cpcfg-small", teacher_output="trees"),
    "simple-pcfg": ModelEntry(
        "induce.models.grammars.simple_pcfg:SimplePcfg", "simple-pcfg-small", teacher_output="trees"
    ),
    "structformer": ModelEntry("induce.models.masked.structformer:StructFormer", "structformer-small"),
    "transformer": ModelEntry("induce.models.masked.transformer:Transformer", "transformer-small"),
    "ccm": ModelEntry("induce.models.em.ccm:Ccm", "ccm-small"),
    "dmv": ModelEntry("induce.models.em.dmv:Dmv", "dmv-small"),
    "dmv-ccm": ModelEntry("induce.models.em.dmv_ccm:DmvCcm", "dmv-ccm-small"),
    "udgn": ModelEntry("induce.models.masked.udgn:Udgn", "udgn-small", teacher_output="heads"),
    "ocn": ModelEntry("induce.tasks.craft.ocn_text:OptionWords", "ocn-small"),
    "chart": ModelEntry(
        "induce.models.distilled.chart:Chart", "chart-small", teacher_output="trees", needs_teacher=True
    ),
    "biaffine": ModelEntry(
        "induce.models.distilled.biaffine:Biaffine", "biaffine-small", teacher_output="heads", needs_teacher=True
    ),
}

ENCODERS: dict[str, ModelEntry] = {  # encoders of expressions
    "ordered-memory": ModelEntry("induce.tasks.encoders.ordered_memory:MemoryEncoder"),
    "lstm": ModelEntry("induce.tasks.encoders.recurrent:LstmEncoder"),
    "onlstm": ModelEntry("induce.tasks.encoders.recurrent:OnLstmEncoder"),
    "transformer": ModelEntry("induce.tasks.encoders.transformer:TransformerEncoder"),
    "tree-lstm": ModelEntry("induce.tasks.encoders.trees:TreeLstm"),
    "tree-rnn": ModelEntry("induce.tasks.encoders.trees:TreeRnn"),
    "tree-cell": ModelEntry("induce.tasks.encoders.trees:TreeCell"),
}

POLICIES: dict[str, ModelEntry] = {  # models that choose actions
    "ocn": ModelEntry("induce.tasks.craft.ocn:OptionController"),
    "moe": ModelEntry("induce.tasks.craft.ocn:MixtureOfExperts"),
    "ompn": ModelEntry("induce.tasks.craft.ompn:OrderedMemoryPolicy"),
    "compile": ModelEntry("induce.tasks.craft.compile:Compile"),
}

SENTENCE_ENCODERS: dict[str, ModelEntry] = {  # encoders of pairs of sentences; pretrained as language models
    "udgn": ModelEntry("induce.tasks.similarity.models:UdgnPairs"),
    "structformer": ModelEntry("induce.tasks.similarity.models:StructFormerPairs"),
    "transformer": ModelEntry("induce.tasks.similarity.models:TransformerPairs"),
}

TASKS: dict[str, TaskEntry] = {
    "listops": TaskEntry("induce.tasks.listops:ListOps", "listops-small", ENCODERS),
    "logic": TaskEntry("induce.tasks.logic:Logic", "logic-small", ENCODERS),
    "craft": TaskEntry(
        "induce.tasks.craft.demonstrations:Craft",
        "craft-small",
        POLICIES,
        examples="induce.tasks.craft.demonstrations:load_demonstrations",
        score="induce.tasks.craft.evaluation:score_craft",
        parser="induce.tasks.craft.parsing:TrajectoryParser",
    ),
    "similarity": TaskEntry(
        "induce.tasks.similarity.pairs:Similarity",
        "similarity-small",
        SENTENCE_ENCODERS,
        examples="induce.tasks.similarity.training:load_pairs",
        score="induce.tasks.similarity.evaluation:score_similarity",
        settle="induce.tasks.similarity.training:settle",
    ),
}

LOADERS: dict[str, LoaderEntry] = {
    "stream": LoaderEntry("induce.data.stream:StreamLoader"),
    "sentences": LoaderEntry("induce.data.sentences:SentenceLoader"),
    "fragments": LoaderEntry("induce.data.fragments:FragmentLoader"),
    "spans": LoaderEntry("induce.data.fragments:SpanLoader"),
    "masked": LoaderEntry("induce.data.sentences:MaskedLoader"),
    "expressions": LoaderEntry("induce.tasks.expressions:ExpressionLoader"),
    "pairs": LoaderEntry("induce.tasks.similarity.training:PairLoader"),
    "demonstrations": LoaderEntry("induce.tasks.craft.loader:DemonstrationLoader"),
}

OPTIMIZERS: dict[str, OptimizerEntry] = {
    "adam": OptimizerEntry("induce.training.optimizer_settings:AdamSettings"),
    "sgd": OptimizerEntry("induce.training.optimizer_settings:SgdSettings"),
    "nt-asgd": OptimizerEntry("induce.training.optimizer_settings:NtAsgdSettings"),
    "none": OptimizerEntry("induce.training.optimizer_settings:NoSettings"),
}

#: whether the diagonal of a head distribution, P(word is the root), counts in the sum over arcs
ROOT_RULE = DecoderOption("root", ("free", "counted"))

#: decoders by name; the first one that reads a structure is its default
DECODERS: dict[str, DecoderEntry] = {
    "unbiased": DecoderEntry("induce.decoding.distances:unbiased", Distances),
    "biased": DecoderEntry("induce.decoding.distances:biased", Distances),
    "nary": DecoderEntry("induce.decoding.distances:nary", Distances, options=(DecoderOption("tolerance"),)),
    "segments": DecoderEntry("induce.decoding.distances:segments", Distances),
    "chu-liu-edmonds": DecoderEntry(
        "induce.decoding.heads:chu_liu_edmonds", HeadDistribution, "heads", options=(ROOT_RULE,)
    ),
    "eisner": DecoderEntry(
        "induce.decoding.heads:eisner",
        HeadDistribution,
        "heads",
        together="induce.decoding.heads:eisner_together",
        options=(ROOT_RULE,),
    ),
    "mbr-heads": DecoderEntry(
        "induce.decoding.heads:mbr_heads",
        HeadDistribution,
        "heads",
        together="induce.decoding.heads:mbr_heads_together",
    ),
    "mbr-arcs": DecoderEntry(
        "induce.decoding.heads:mbr_arcs",
        HeadDistribution,
        "heads",
        together="induce.decoding.heads:mbr_arcs_together",
    ),
    "argmax": DecoderEntry("induce.decoding.heads:argmax", HeadDistribution, "heads"),
    "heads-to-tree": DecoderEntry("induce.decoding.phrases:heads_to_tree", HeadDistribution, options=(ROOT_RULE,)),
    "heights": DecoderEntry("induce.decoding.heights:heights", Heights, "heads"),
    "shift-reduce": DecoderEntry("induce.decoding.stack:shift_reduce", StackDecisions),
    "mbr": DecoderEntry("induce.decoding.chart:mbr", SpanScores),
    "mbr-nary": DecoderEntry("induce.decoding.chart:mbr_nary", SpanScores),
    "brackets": DecoderEntry("induce.decoding.predecoded:brackets", Brackets),
    "arcs": DecoderEntry("induce.decoding.predecoded:arcs", Heads, "heads"),
}

PRIORS: dict[str, PriorEntry] = {
    "prefix-symbols": PriorEntry("induce.decoding.priors:prefix_symbols", SpanScores),
    "function-words": PriorEntry("induce.decoding.priors:function_words", SpanScores),
    "branching": PriorEntry("induce.decoding.priors:branching_spans", SpanScores),
    "punctuation": PriorEntry("induce.decoding.priors:punctuation", SpanScores),
    "brackets": PriorEntry("induce.decoding.priors:brackets", SpanScores),
    "joining-marks": PriorEntry("induce.decoding.priors:joining_marks", SpanScores),
    "near-heads": PriorEntry("induce.decoding.priors:near_heads", HeadDistribution, max_strength=1.0),
    "branching-heads": PriorEntry("induce.decoding.priors:branching_heads", HeadDistribution, max_strength=1.0),
}
NO_PRIORS = "none"


def load(location: str) -> Any:
    """Import the object at ``"module:object"``."""
    module, _, name = location.partition(":")
    return getattr(import_module(module), name)


def known(table: Mapping[str, Entry], name: str, kind: str) -> Entry:
    """``table[name]``, or a SynparseError that names the nearest key."""
    if name not in table:
        raise UnknownNameError(f"there is no {kind} {name!r}; {nearest(name, table)}")
    return table[name]


def canonical(table: Iterable[str], name: str) -> str:
    """The key of ``table`` that equals ``name`` except for capitals, hyphens and underscores, or ``name`` itself."""
    if name in table:
        return name
    matches = [key for key in table if _bare(key) == _bare(name)]
    return matches[0] if len(matches) == 1 else name


def _bare(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def model_class(name: str) -> Any:
    """The model class called ``name``. Loads torch."""
    return load(known(MODELS, name, "model").place)


def models_of(task: str) -> Mapping[str, ModelEntry]:
    """Models that can learn ``task``, or text if it is empty."""
    return known(TASKS, task, "task").models if task else MODELS


def find_task(name: str) -> Any:
    """The task called ``name``."""
    return load(known(TASKS, name, "task").place)()


def decoder_entry(name: str) -> DecoderEntry:
    """Entry of the decoder in ``NAME`` or ``NAME:OPTION``. Raises SynparseError."""
    _decoder_options(name)
    return DECODERS[name.partition(":")[0]]


def _decoder_options(name: str) -> dict[str, Any]:
    """Options in a decoder's specification, by name. Raises SynparseError for an unknown decoder, option or value."""
    kind, *texts = name.split(":")
    options = known(DECODERS, kind, "decoder").options
    values: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        option = next((option for option in options if option.name == key or not equals), None)
        if option is None:
            names = " or ".join(option.name for option in options)
            raise SynparseError(
                f"decoder {name!r}: {kind} has no option {text!r}" + (f"; it has {names}" * bool(names))
            )
        try:
            values[option.name] = option.parse(value if equals else key)
        except ValueError as error:
            raise SynparseError(f"decoder {name!r}: {error}") from None
    return values


def with_defaults(name: str, defaults: Mapping[str, str]) -> str:
    """The decoder's specification with those of ``defaults`` that it has and does not set itself."""
    kind, options = name.partition(":")[0], _decoder_options(name)
    declared = [option.name for option in DECODERS[kind].options if option.name in defaults]
    missing = [option for option in declared if option not in options]
    return ":".join([name, *(f"{option}={defaults[option]}" for option in missing)])


def parse_priors(texts: Iterable[str]) -> tuple[Prior, ...]:
    """Priors from ``NAME:STRENGTH`` each.

    The name ``none`` is ignored, so that it means the empty list. Raises SynparseError for an unknown name, or for a
    strength that is missing or out of range.
    """
    priors = []
    for text in texts:
        if text == NO_PRIORS:
            continue
        name, _, number = text.partition(":")
        entry = known(PRIORS, name, "prior")
        strength = _number(number)
        if not 0 <= strength <= entry.max_strength:
            limit = f"a strength from 0 to {entry.max_strength:g}"
            raise SynparseError(f"prior {text!r}: write {name}:STRENGTH, with {limit}")
        priors.append(Prior(name, strength))
    return tuple(priors)


def _number(text: str) -> float:
    """``text`` as a finite number, or -1."""
    try:
        value = float(text)
    except ValueError:
        return -1.0
    return value if isfinite(value) else -1.0


def decoder(name: str) -> Any:
    """Decoding function of a specification, ``NAME`` or ``NAME:OPTION``."""
    function, options = load(decoder_entry(name).place), _decoder_options(name)
    return partial(function, **options) if options else function


def decoder_together(name: str) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Function from the rows of several sentences to their trees or heads."""
    entry = decoder_entry(name)
    if entry.together:
        return partial(load(entry.together), **_decoder_options(name))
    decode = decoder(name)
    return lambda rows: list(map(decode, rows))


def check_loader(model: str, reads: tuple[type[Batch], ...], loader: str) -> None:
    """Raise SynparseError if ``loader`` makes no batches of the types that ``model`` learns from (``reads``)."""
    if set(LOADERS[loader].batches).isdisjoint(reads):
        fitting = " or ".join(name for name, entry in LOADERS.items() if set(entry.batches) & set(reads))
        raise SynparseError(f"model {model!r} reads {fitting}, not {loader} (loader.name)")


def decoders_of(gives: tuple[type[Structure], ...], output: Output | None = None) -> list[str]:
    """Names of the decoders of the structures ``gives``, in their order, with ``output`` only those of this output."""
    return [
        name
        for structure in gives
        for name, entry in DECODERS.items()
        if entry.reads is structure and output in (None, entry.gives)
    ]


def fitting_decoder(
    model: str, gives: tuple[type[Structure], ...], name: str = "", *, task: str = "", branches_right: bool = False
) -> str:
    """``name``, or if it is empty the default decoder of what ``model`` gives, trained for a ``task`` or on text.

    The default for distances is ``biased`` if the language clearly ``branches_right``, else ``unbiased``.

    Raises SynparseError if the decoder needs a structure that the model does not give, or the model gives none.
    """
    fitting = decoders_of(gives)
    if not fitting:
        instead = f"task eval {task}" if task else "perplexity"
        raise SynparseError(f"model {model!r} gives no trees; score it with synparse {instead}")
    if not name:
        return "biased" if branches_right and gives[0] is Distances else fitting[0]
    needs = decoder_entry(name).reads
    if needs not in gives:
        names = " and ".join(structure.name for structure in gives)
        raise SynparseError(f"model {model!r} gives {names}; decoder {name!r} needs {needs.name} (try {fitting[0]!r})")
    return name


def structure_called(name: str) -> type[Structure] | None:
    """The structure that is called ``name`` in JSON lines, or None."""
    return next((entry.reads for entry in DECODERS.values() if entry.reads.name == name), None)
