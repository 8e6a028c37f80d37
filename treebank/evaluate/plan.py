"""The plan of an evaluation: what is scored against what, and under which conventions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from treebank.base.arguments import check_count
from treebank.base.errors import SynparseError, UnknownNameError, UsageError
from treebank.base.registry import nearest
from treebank.core.head_rules import find_rules
from treebank.core.sentence import Treebank
from treebank.evaluate.conventions import (
    ATTACHMENT_CONVENTIONS,
    CONVENTIONS,
    AttachmentConvention,
    Convention,
    ScoringConvention,
    find_convention,
)
from treebank.evaluate.systems import HEAD_BASELINES, System, baseline
from treebank.io.lines import OnBad
from treebank.io.read import InputOptions

DETAILS = ("length", "height", "relation", "distance")  # names of detailed tables


@dataclass(frozen=True, kw_only=True)
class EvaluationPlan:
    """Names and paths of an evaluation, checked when the plan is created, before any file is read.

    ``gold`` is a treebank, or the name or path of one. ``predicted`` are files or folders of trees or, by suffix, of
    heads. ``conventions``: by default those that fit. ``seed`` draws random baselines once instead of computing their
    expectation. ``head_rules`` derive gold heads from trees. ``characters`` scores trees over characters, as is always
    done for models of characters (see `treebank.evaluate.characters`). ``by`` names detailed tables. ``details``
    computes all of them for the JSON output. ``encoding`` is that of gold, and of predictions that are not UTF-8
    (default: UTF-8). ``on_bad`` is called with each malformed gold sentence, which is left out;
    without it, the first one raises.
    """

    gold: str | Treebank
    predicted: Sequence[str] = ()
    baselines: Sequence[str] = ()
    conventions: Sequence[str] = ()
    max_length: int | None = None
    seed: int | None = None
    head_rules: str | None = None
    compare: bool = False
    by: Sequence[str] = ()
    details: bool = False
    characters: bool = False
    ptb: str | None = None
    encoding: str = ""
    on_bad: OnBad | None = None

    def __post_init__(self) -> None:
        """Check all names. Raises UsageError if one is unknown, and SynparseError for a wrong number."""
        check_count("max_length", self.max_length, low=1)
        check_count("seed", self.seed)
        known: Mapping[str, Convention] = {**CONVENTIONS, **ATTACHMENT_CONVENTIONS}
        for name in self.conventions:
            first = name.partition(",")[0]
            if name not in ATTACHMENT_CONVENTIONS and first in ATTACHMENT_CONVENTIONS:
                raise UsageError(f"convention {name!r}: for heads, only --max-length can change a convention")
            if ":" not in name and first not in known:
                raise UnknownNameError(f"no convention {name!r}; {nearest(name, known)}")
            if name not in ATTACHMENT_CONVENTIONS:
                find_convention(name)
        InputOptions(encoding=self.encoding)
        for name in self.baselines:
            baseline(name)
        if self.head_rules:
            find_rules(self.head_rules)

    @property
    def needs_model(self) -> bool:
        """Whether the default model is scored: no file is named, and not only baselines of heads."""
        return not self.predicted and not (self.baselines and all(name in HEAD_BASELINES for name in self.baselines))


class Conventions(NamedTuple):
    """The conventions under which trees and heads are scored."""

    trees: Sequence[ScoringConvention]
    heads: Sequence[AttachmentConvention]


def choose_conventions(plan: EvaluationPlan, gold: Treebank, systems: Sequence[System]) -> Conventions:
    """The conventions of the plan, by default those that fit the gold treebank and the systems.

    Raises SynparseError if gold has no trees to score with, or if a system has no convention, and UsageError if a named
    convention or head rules have no system.
    """
    heads = [ATTACHMENT_CONVENTIONS[name] for name in plan.conventions if name in ATTACHMENT_CONVENTIONS]
    trees = [find_convention(name) for name in plan.conventions if name not in ATTACHMENT_CONVENTIONS]
    gives = {kind: [system for system in systems if system.kind == kind] for kind in ("trees", "heads")}
    has_trees = all(sentence.tree is not None for sentence in gold.sentences)
    if not has_trees and (trees or gives["trees"]):
        raise SynparseError(_without_gold_trees(gold, gives["trees"]))
    if not heads and not trees:
        wants_heads = bool(gives["heads"] or plan.head_rules)
        if wants_heads or not has_trees:
            heads = [ATTACHMENT_CONVENTIONS["udgn"]]
        if has_trees and (gives["trees"] or not wants_heads):
            trees = [CONVENTIONS["on-lstm"]]
    for kind, conventions, other in (("trees", trees, "heads"), ("heads", heads, "trees")):
        if gives[kind] and not conventions:
            raise SynparseError(_without_convention(gives[kind], kind, other))
    if trees and systems and not gives["trees"]:
        raise UsageError("conventions of trees require a system with trees; add --baseline right, or leave them out")
    if (heads or plan.head_rules) and systems and not gives["heads"]:
        options = "--head-rules and conventions of heads require a system with heads"
        raise UsageError(f"{options}; add a CoNLL-U file or --baseline next, or leave them out")
    return Conventions(trees, heads)


def _is_model(system: System) -> bool:
    """Whether the system is a parser, and not a baseline or a file."""
    return system.predict is not None and not system.is_file


def _without_gold_trees(gold: Treebank, systems: Sequence[System]) -> str:
    """The error message for ``systems`` with trees, or a convention of trees, if gold has none."""
    problem = f"{gold.name}: gold has heads, but no trees"
    if not systems:
        return f"{problem}; name a convention of heads ({', '.join(ATTACHMENT_CONVENTIONS)})"
    is_model = any(map(_is_model, systems))
    remedy = "if a model also gives heads, name a --decoder" if is_model else "score heads, or name another treebank"
    return f"{problem} to score those of {systems[0].name} against; {remedy}"


def _without_convention(systems: Sequence[System], kind: str, other: str) -> str:
    name = next((system.name for system in systems if not _is_model(system)), "")
    if name:
        return f"{name} has {kind}, but no convention for {kind} was named"
    return f"the models here give {kind}, not {other}; name a --convention for {kind}, or a --decoder for {other}"
