"""Components by the names that users type: location of the code, and facts that are needed before torch loads."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from induce.structures import (
    Brackets,
    Distances,
    HeadDistribution,
    Heads,
    Heights,
    Impact,
    RankedHeads,
    RankedTrees,
    SpanScores,
    StackDecisions,
    Structure,
)
from treebank.base.arguments import Registry
from treebank.base.errors import SynparseError, UsageError
from treebank.base.metadata import one_line

if TYPE_CHECKING:
    from induce.data.batches import Batch

Output = Literal["trees", "heads"]
T = TypeVar("T")


class ExtendedRegistry(Registry[T]):
    """A table with the components of installed packages, which are added before it is read for the first time.

    They are not added while this module is imported, because the modules that import it may be needed by a package.
    """

    @property
    def entries(self) -> dict[str, T]:
        """The objects by name."""
        load_extensions()
        return self._entries

    @entries.setter
    def entries(self, entries: dict[str, T]) -> None:
        self._entries = entries

    def add(self, name: str, entry: T) -> None:
        """Add an object, or replace the one called ``name``."""
        self._entries[name] = entry


@dataclass(frozen=True)
class ModelEntry:
    """A model, or an encoder within one."""

    location: str  # "module:class"
    preset: str = ""  # default preset, for a CPU: a name, or a path that ends in .toml; if empty, the name and -small
    layered: bool = False  # whether each layer has trees of its own
    learns_trees: bool = False  # whether it can also learn from a treebank
    sets: tuple[str, ...] = ()  # sets of distances besides those of the language model
    teacher_output: Output | None = None  # structures of other parsers that it can learn from
    needs_teacher: bool = False  # whether it learns only from a teacher
    arrays: str = ""  # "module:class" of the same model in NumPy, with which a CPU parses without torch


@dataclass(frozen=True)
class DecoderOption:
    """An option of a decoder: a nonnegative number, or one of ``choices``.

    It is written after the name of the decoder, as in ``nary:tolerance=0.5``, or by its value alone, ``nary:0.5``.
    """

    name: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class DecoderEntry:
    """A function from a row of a structure to brackets, or to heads."""

    location: str  # "module:function"
    reads: type[Structure]
    gives: Output = "trees"
    batch_location: str = ""  # "module:function" from rows of several sentences to their trees or heads, if faster
    options: tuple[DecoderOption, ...] = ()  # keyword arguments of the functions
    k_best_location: str = ""  # "module:function" from a row and k to the k best (score, brackets or heads), if any


@dataclass(frozen=True)
class PriorEntry:
    """A function from the scores of one sentence to scores (`induce.decoding.priors`)."""

    location: str  # "module:function"
    reads: type[Structure]
    max_strength: float = 100.0
    needs_counts: bool = False  # the `EdgeStatistics` of a grammar


@dataclass(frozen=True)
class TeacherEntry:
    """A source of structures that a model learns besides the words of its text (``--teacher``)."""

    check: str  # "module:function" from request and settings, which raises SynparseError if they do not fit
    supervise: str  # "module:function" from request and settings to a `Supervision`


@dataclass(frozen=True)
class ProgramEntry:
    """A program that trains several models in one folder.

    Its function is called with the request and with the value of the option of the same name, or None on resume.
    """

    location: str  # "module:function"
    marker: str  # file in the folder, by which a resumed program is recognized
    models: str = ""  # pattern of its models in the folder; empty: the folder itself is the model


@dataclass(frozen=True)
class PurposeEntry:
    """A purpose of training: to parse text (""), or a task with labeled examples or demonstrations."""

    location: str  # "module:class" whose ``Config`` has its settings, a `PurposeSettings`
    models: Registry[ModelEntry]  # the choices of --model
    examples: str = ""  # "module:function" from settings and names of texts to the examples; if empty, text is read
    preset: str = ""  # by default; if empty, that of the model
    parser: str = "induce.parsing.model_parser:ModelParser"  # "module:class" of the parser from lines to trees
    wrapper: str = ""  # "module:class" of the model around an encoder
    settle: str = ""  # "module:function" from settings and --model to dependent settings
    score: str = ""  # "module:function" of ``synparse task eval``

    @property
    def settings(self) -> type:
        """Dataclass of its settings."""
        return load(self.location).Config


@dataclass(frozen=True)
class LoaderEntry:
    """A way to cut training data into batches (``loader.name``)."""

    location: str  # "module:class" of the loader

    @property
    def batches(self) -> tuple[type[Batch], ...]:
        """Types of its batches, with and without supervision."""
        return load(self.location).makes

    @property
    def settings(self) -> type:
        """Dataclass of its settings."""
        return load(self.location).Config


@dataclass(frozen=True)
class OptimizerEntry:
    """An optimizer (``optimizer.name``)."""

    location: str  # "module:class" of its settings

    @property
    def settings(self) -> type:
        """Dataclass of its settings."""
        return load(self.location)


MODELS: ExtendedRegistry[ModelEntry] = ExtendedRegistry(
    "model",
    {
        "onlstm": ModelEntry("induce.models.language.onlstm:OnLstm", layered=True),
        "onlstm-syd": ModelEntry(
            "induce.models.language.onlstm:OnLstmSyd",
            layered=True,
            learns_trees=True,
            sets=("syd",),
        ),
        "lstm": ModelEntry("induce.models.language.lstm:Lstm"),
        "ordered-memory": ModelEntry("induce.models.language.ordered_memory:OrderedMemory"),
        "rnng": ModelEntry("induce.models.language.rnng:Rnng", teacher_output="trees", needs_teacher=True),
        "urnng": ModelEntry("induce.models.language.rnng:Urnng", teacher_output="trees"),
        "prpn": ModelEntry("induce.models.language.prpn:Prpn"),
        "prpn-syd": ModelEntry("induce.models.language.prpn:PrpnSyd", learns_trees=True, sets=("syd",)),
        "npcfg": ModelEntry("induce.models.grammars.npcfg:NeuralPcfg", teacher_output="trees"),
        "cpcfg": ModelEntry("induce.models.grammars.npcfg:CompoundPcfg", teacher_output="trees"),
        "simple-pcfg": ModelEntry("induce.models.grammars.simple_pcfg:SimplePcfg", teacher_output="trees"),
        "tn-pcfg": ModelEntry("induce.models.grammars.tn_pcfg:TnPcfg", teacher_output="trees"),
        "nl-pcfg": ModelEntry("induce.models.grammars.lexicalized_pcfg:NlPcfg", teacher_output="trees"),
        "nbl-pcfg": ModelEntry("induce.models.grammars.lexicalized_pcfg:NblPcfg", teacher_output="trees"),
        "diora": ModelEntry("induce.models.autoencoders.diora:Diora", teacher_output="trees"),
        "s-diora": ModelEntry("induce.models.autoencoders.sdiora:SDiora", teacher_output="trees"),
        "structformer": ModelEntry("induce.models.masked.structformer:StructFormer"),
        "transformer": ModelEntry("induce.models.masked.masked_model:Transformer"),
        "tree-transformer": ModelEntry("induce.models.masked.tree_transformer:TreeTransformer", layered=True),
        "segment-edges": ModelEntry("induce.models.em.segment_edges:SegmentEdges"),
        "ccm": ModelEntry("induce.models.em.ccm:Ccm"),
        "dmv": ModelEntry("induce.models.em.dmv:Dmv"),
        "dmv-ccm": ModelEntry("induce.models.em.dmv_ccm:DmvCcm"),
        "ndmv": ModelEntry("induce.models.dependency.neural_dmv:Ndmv", teacher_output="heads"),
        "ndmv-sibling": ModelEntry("induce.models.dependency.ndmv_factorized:NdmvSibling", teacher_output="heads"),
        "ndmv-lexical": ModelEntry("induce.models.dependency.ndmv_factorized:NdmvLexical", teacher_output="heads"),
        "ndmv-joint": ModelEntry("induce.models.dependency.ndmv_factorized:NdmvJoint", teacher_output="heads"),
        "udgn": ModelEntry("induce.models.masked.udgn:Udgn", teacher_output="heads"),
        "chart": ModelEntry(
            "induce.models.distilled.student:ChartParser",
            teacher_output="trees",
            needs_teacher=True,
            arrays="induce.models.distilled.array_student:ArrayChart",
        ),
        "biaffine": ModelEntry(
            "induce.models.distilled.student:Biaffine",
            teacher_output="heads",
            needs_teacher=True,
            arrays="induce.models.distilled.array_student:ArrayBiaffine",
        ),
    },
)

#: purposes of training by name; optional parts add theirs
PURPOSES: ExtendedRegistry[PurposeEntry] = ExtendedRegistry(
    "task", {"": PurposeEntry("induce.settings.run:ParsingPurpose", MODELS)}
)

PURPOSE = "task"  # table of the settings of a purpose in presets, in --set and in the files of models
PROGRAM = "task transfer"  # command that trains models with `RunFacts.program_facts`

LOADERS: ExtendedRegistry[LoaderEntry] = ExtendedRegistry(
    "loader",
    {
        "stream": LoaderEntry("induce.data.loaders:StreamLoader"),
        "sentences": LoaderEntry("induce.data.loaders:SentenceLoader"),
        "fragments": LoaderEntry("induce.data.loaders:FragmentLoader"),
        "spans": LoaderEntry("induce.data.loaders:SpanLoader"),
        "masked": LoaderEntry("induce.data.loaders:MaskedLoader"),
    },
)

#: sources of structures by the name before the colon; "" stands for models, and for files with trees or heads
TEACHERS: ExtendedRegistry[TeacherEntry] = ExtendedRegistry(
    "teacher",
    {
        "": TeacherEntry("induce.distillation.teachers:check_teachers", "induce.distillation.teachers:supervise"),
        "seminfo": TeacherEntry(
            "induce.distillation.paraphrases:check_rewards", "induce.distillation.paraphrases:supervise"
        ),
    },
)

#: programs that train several models, by the option of ``synparse train`` that starts them
PROGRAMS: ExtendedRegistry[ProgramEntry] = ExtendedRegistry(
    "program",
    {
        "recipe": ProgramEntry("induce.recipes.runner:train_recipe", "plan.json"),
        "seeds": ProgramEntry("induce.family.seeds:train_family", "family.json", models="seed-*"),
    },
)

#: function from a device to the group of processes of which this one is a part
PROCESS_GROUP = "induce.distributed.process_group:join"

OPTIMIZERS: ExtendedRegistry[OptimizerEntry] = ExtendedRegistry(
    "optimizer",
    {
        "adam": OptimizerEntry("induce.settings.run:AdamSettings"),
        "sgd": OptimizerEntry("induce.settings.run:SgdSettings"),
        "nt-asgd": OptimizerEntry("induce.settings.run:NtAsgdSettings"),
        "none": OptimizerEntry("induce.settings.run:NoSettings"),
    },
)

#: whether the diagonal of a head distribution, P(word is the root), counts in the sum over arcs
ROOT_RULE = DecoderOption("root", ("free", "counted"))


def _projective(name: str, options: tuple[DecoderOption, ...] = ()) -> DecoderEntry:
    """The decoder called ``name`` of `induce.decoding.heads`, a `Projective`."""
    path = f"induce.decoding.heads:{name}"
    return DecoderEntry(path, HeadDistribution, "heads", f"{path}.decode_all", options, f"{path}.k_best")


#: decoders by name; the first one that reads a structure is its default
DECODERS: ExtendedRegistry[DecoderEntry] = ExtendedRegistry(
    "decoder",
    {
        "unbiased": DecoderEntry("induce.decoding.distances:unbiased", Distances),
        "biased": DecoderEntry("induce.decoding.distances:biased", Distances),
        "biased-inner": DecoderEntry("induce.decoding.distances:biased_inner", Distances),
        "nary": DecoderEntry("induce.decoding.distances:nary", Distances, options=(DecoderOption("tolerance"),)),
        "segments": DecoderEntry("induce.decoding.distances:segments", Distances),
        "chu-liu-edmonds": DecoderEntry(
            "induce.decoding.heads:chu_liu_edmonds", HeadDistribution, "heads", options=(ROOT_RULE,)
        ),
        "eisner": _projective("eisner", options=(ROOT_RULE,)),
        "mbr-heads": _projective("mbr_heads"),
        "mbr-arcs": _projective("mbr_arcs"),
        "argmax": DecoderEntry("induce.decoding.heads:argmax", HeadDistribution, "heads"),
        "heads-to-tree": DecoderEntry("induce.decoding.heads:heads_to_tree", HeadDistribution, options=(ROOT_RULE,)),
        "heights": DecoderEntry("induce.decoding.distances:heights", Heights, "heads"),
        "shift-reduce": DecoderEntry("induce.decoding.distances:shift_reduce", StackDecisions),
        "impact-cuts": DecoderEntry("induce.decoding.hidden_states:impact_cuts", Impact),
        "impact-heads": DecoderEntry("induce.decoding.hidden_states:impact_heads", Impact, "heads"),
        "mbr": DecoderEntry(
            "induce.decoding.chart:mbr",
            SpanScores,
            batch_location="induce.decoding.chart:mbr_together",
            k_best_location="induce.decoding.chart:mbr_k_best",
        ),
        "mbr-nary": DecoderEntry("induce.decoding.chart:mbr_nary", SpanScores),
        "brackets": DecoderEntry("builtins:list", Brackets),
        "ranked": DecoderEntry(
            "induce.decoding.chart:best", RankedTrees, k_best_location="induce.decoding.chart:first_ranked"
        ),
        "arcs": DecoderEntry("builtins:tuple", Heads, "heads"),
        "ranked-arcs": DecoderEntry(
            "induce.decoding.chart:best", RankedHeads, "heads", k_best_location="induce.decoding.chart:first_ranked"
        ),
    },
)

PRIORS: ExtendedRegistry[PriorEntry] = ExtendedRegistry(
    "prior",
    {
        "prefix-symbols": PriorEntry("induce.decoding.priors:prefix_symbols", SpanScores, needs_counts=True),
        "initial-spans": PriorEntry("induce.decoding.priors:initial_spans", SpanScores),
        "segment-edges": PriorEntry("induce.decoding.priors:segment_edges", SpanScores, needs_counts=True),
        "branching": PriorEntry("induce.decoding.priors:branching_spans", SpanScores),
        "punctuation": PriorEntry("induce.decoding.priors:punctuation", SpanScores),
        "brackets": PriorEntry("induce.decoding.priors:brackets", SpanScores),
        "joining-marks": PriorEntry("induce.decoding.priors:joining_marks", SpanScores),
        "branching-gaps": PriorEntry("induce.decoding.priors:branching_gaps", Distances),
        "near-heads": PriorEntry("induce.decoding.priors:near_heads", HeadDistribution, max_strength=1.0),
        "branching-heads": PriorEntry("induce.decoding.priors:branching_heads", HeadDistribution, max_strength=1.0),
    },
)

#: optional parts of parsing by name -> "module:object"; they are imported when they are used
PARTS: ExtendedRegistry[str] = ExtendedRegistry(
    "optional part",
    {
        "ensemble": "induce.ensemble.ensemble:load_ensemble",  # parser of a path that is an ensemble
        "states": "induce.states.state_parser:StateParser",  # parser whose distances are read from hidden states
        "shards": "induce.shards.batch:parse_into",  # output folders of parsed files
        "engine": "induce.shards.batch:engine_called",  # engine that parses them
        "labels": "induce.labels.output_labels:induce_labels",  # labeler of parsed text
    },
)


def load_part(name: str) -> Any:
    """The object of an optional part. Raises SynparseError if the part is not installed."""
    return load(PARTS.get(name))


def load(location: str) -> Any:
    """Import the object at ``"module:object"``. Raises SynparseError if the module or the object does not exist."""
    module, _, name = location.partition(":")
    try:
        owner = import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):  # a module that this one imports
            raise
        problem = f"there is no module {error.name!r}; install it, or correct the location in the registry"
        raise SynparseError(f"{location}: {problem}") from None
    try:
        return attrgetter(name)(owner)
    except AttributeError:
        raise SynparseError(f"{location}: {module} has no {name!r}; correct the location in the registry") from None


def model_class(name: str) -> Any:
    """The model class called ``name``. Loads torch."""
    return load(MODELS.get(name).location)


def default_preset(model: str, purpose: str = "") -> str:
    """The preset of ``model``, or of a purpose, by default."""
    return PURPOSES.get(purpose).preset or MODELS.get(model).preset or f"{model}-small"


def models_of(purpose: str) -> Registry[ModelEntry]:
    """Models that can be trained for ``purpose``, for parsing text if it is empty."""
    return PURPOSES.get(purpose).models


def train_command(purpose: str) -> str:
    """The command that trains models for ``purpose``."""
    return f"synparse task train {purpose}" if purpose else "synparse train"


def score_command(purpose: str) -> str:
    """The command that scores models that give no trees."""
    return f"synparse task eval {purpose}" if purpose else "synparse perplexity"


def teacher_entry(names: Sequence[str]) -> TeacherEntry:
    """The entry of the source that ``names`` refer to: that of a name before a colon, else that of models and files."""
    prefixes = (name.partition(":")[0] for name in names)
    return TEACHERS.get(next((prefix for prefix in prefixes if prefix in TEACHERS), ""))


def find_purpose(name: str) -> Any:
    """The object of the task called ``name``."""
    return load(PURPOSES.get(name).location)()


def check_loader(model: str, reads: tuple[type[Batch], ...], loader: str) -> None:
    """Raise SynparseError if ``loader`` makes no batches of the types that ``model`` learns from (``reads``)."""
    if set(LOADERS.get(loader).batches).isdisjoint(reads):
        fitting = " or ".join(name for name, entry in LOADERS.items() if set(entry.batches) & set(reads))
        raise UsageError(f"model {model!r} reads {fitting}, not {loader} (loader.name)")


def choose_device(device: str) -> str:
    """``cpu`` or ``cuda``, with ``auto`` replaced by the GPU if there is one."""
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device not in ("cpu", "cuda"):
        raise SynparseError(f"there is no device {device!r}; use auto, cpu or cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise SynparseError("device cuda: torch finds no GPU here; use --device cpu")
    return device


#: packages with a folder ``presets``
PRESET_PACKAGES = ["induce"]

#: functions of optional parts of synparse, called like those of entry points. They are listed here because the entry
#: points of a source checkout are those of its last installation
OPTIONAL_PARTS = ("induce.tasks.registration:add_tasks",)


def add_optional_parts() -> None:
    """Add the components of those `OPTIONAL_PARTS` that are installed."""
    for location in OPTIONAL_PARTS:
        name, _, function = location.partition(":")
        try:
            module = import_module(name)
        except ModuleNotFoundError as error:
            if not name.startswith(str(error.name)):  # a missing library
                raise
        else:
            getattr(module, function)()


def load_extensions() -> None:
    """Add the components of installed packages, once. They can read the tables while they are added."""
    while _PENDING:
        _PENDING.pop()()


def add_extensions() -> None:
    """Add the components of installed packages.

    Each entry point of the group ``synparse`` names a function without arguments, which adds entries to these tables.
    A package that fails is reported on standard error, and the others are added.
    """
    for point in entry_points(group="synparse"):
        try:
            point.load()()
        except (Exception, SystemExit) as error:
            package = point.dist.name if point.dist else point.value
            problem = f"{type(error).__name__}: {one_line(error)}"
            print(f"warning: {package} cannot be used ({problem}); update or uninstall it", file=sys.stderr)


_PENDING = [add_extensions]
add_optional_parts()
