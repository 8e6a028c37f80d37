"""One evaluation: the plan, systems scored against one gold treebank, and the result with its tables and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from treebank.base.arguments import check_count, check_names, nearest, split_name
from treebank.base.errors import SynparseError, TreebankError, UnknownNameError, UsageError
from treebank.base.tables import Table
from treebank.core.baselines import BASELINES, HEAD_BASELINES
from treebank.core.head_rules import find_rules
from treebank.core.sentence import Treebank
from treebank.corpora.catalog import bound_of, digest, load_whole, up_to
from treebank.evaluate.conventions import (
    ATTACHMENT_CONVENTIONS,
    CONVENTIONS,
    AttachmentConvention,
    Convention,
    ScoringConvention,
    find_convention,
)
from treebank.evaluate.score import HeadScore, Runs, Score, TreeScore
from treebank.evaluate.score_tables import (
    Comparison,
    Published,
    Spread,
    check_compared,
    compare_all,
    compare_published,
    corrected_by_convention,
    evaluation_tables,
    family_signature,
)
from treebank.evaluate.systems import (
    System,
    WordScore,
    baseline,
    character_systems,
    character_treebank,
    expand_files,
    file_system,
)
from treebank.evaluate.uas import score_heads
from treebank.evaluate.uf1 import score_trees
from treebank.io.lines import OnBad
from treebank.io.read import InputOptions

DETAILS = ("length", "height", "relation", "distance")  # names of detailed tables


@dataclass(frozen=True, kw_only=True)
class EvaluationPlan:
    """Names and paths of an evaluation, checked when the plan is created, before any file is read.

    ``gold`` is a treebank, or the name or path of one. ``predicted`` are files or folders of trees or, by suffix, of
    heads, or patterns of files of one family of seeds. ``conventions``: by default those that fit. ``seed`` draws
    random baselines once instead of computing their expectation. ``head_rules`` derive gold heads from trees.
    ``characters`` scores trees over characters, as is always done for models of characters (see
    `treebank.evaluate.systems`). ``published`` are scores of papers to compare with, such as ``C-PCFG=55.2+-2.1:4``.
    ``by`` names detailed tables. ``details`` computes all of them for the JSON output. ``encoding`` is that of gold,
    and of predictions that are not UTF-8 (default: UTF-8). ``on_bad`` is called with each malformed gold sentence,
    which is left out; without it, the first one raises.
    """

    gold: str | Treebank
    predicted: Sequence[str] = ()
    baselines: Sequence[str] = ()
    conventions: Sequence[str] = ()
    max_length: int | None = None
    seed: int | None = None
    head_rules: str | None = None
    compare: bool = False
    published: Sequence[str] = ()
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
        for text in self.published:
            Published.parse(text)
        for name in self.baselines:
            baseline(name)
        if self.head_rules:
            find_rules(self.head_rules)

    @property
    def needs_model(self) -> bool:
        """Whether the default model is scored: no file is named, and not only baselines of heads."""
        return not self.predicted and not (self.baselines and all(name in HEAD_BASELINES for name in self.baselines))


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """All scores against one gold treebank: trees before heads, ordered by convention and system.

    The ``indices`` of a score refer to the sentences of ``gold``. ``spreads`` are means over models, ``words`` the word
    scores of an evaluation over characters. ``by`` names the detailed tables to print.
    """

    gold: Treebank
    scores: Sequence[Score]
    comparisons: Sequence[Comparison] = ()
    spreads: Sequence[Spread] = ()
    words: Sequence[WordScore] = ()
    by: Sequence[str] = ()

    @property
    def trees(self) -> list[TreeScore]:
        """The scores of trees."""
        return [score for score in self.scores if isinstance(score, TreeScore)]

    @property
    def heads(self) -> list[HeadScore]:
        """The scores of heads, UAS and UUAS."""
        return [score for score in self.scores if isinstance(score, HeadScore)]

    @property
    def scored(self) -> Treebank:
        """The gold sentences that at least one score includes."""
        return _selected(self.gold, sorted({index for score in self.scores for index in score.indices}))

    @property
    def sha256(self) -> str:
        """The digest of the sentences in ``scored``. Each score has the digest of its own sentences."""
        scored = self.scored
        same = (score.sha256 for score in self.scores if len(score.indices) == len(scored))
        return next(same, "") or digest(scored)

    def tables(self) -> list[Table]:
        """The tables for people, with the signatures as footnotes."""
        return evaluation_tables(
            self.trees, self.heads, self.words, self.comparisons, self.spreads, self.by, gold=self.gold
        )

    def __repr__(self) -> str:
        """The tables as text. The sentences with their counts would fill megabytes."""
        return "\n\n".join(table.text() for table in self.tables())

    def _repr_html_(self) -> str:
        """The tables in a notebook."""
        return "\n".join(table.html() for table in self.tables())

    def to_json(self) -> dict[str, Any]:
        """The output of ``synparse eval --format json`` (see docs/reference/conventions.md)."""
        scored = self.scored
        head = {"name": scored.name, "sentences": len(scored), "sha256": self.sha256, "note": scored.note}
        document: dict[str, Any] = {"gold": head, "scores": [score.to_json() for score in self.scores]}
        parts: dict[str, Sequence[Any]] = {"comparisons": self.comparisons, "words": self.words, "groups": self.spreads}
        return document | {name: [item.to_json() for item in items] for name, items in parts.items() if items}


def evaluate(
    plan: EvaluationPlan, models: Sequence[System] = (), groups: Mapping[str, Sequence[str]] | None = None
) -> Evaluation:
    """Score the systems of the plan and ``models``, which see no gold annotation except tags.

    ``groups`` maps a pattern to the folders of its models, for mean and deviation. Patterns of files have these, too.
    Raises SynparseError if something cannot be read, scored or aligned.
    """
    groups = dict(groups or {})
    gold = load_gold(plan)
    files = expand_files(plan.predicted)
    families = {key: [name for name, _ in named] for key, named in files.items() if len(named) > 1}
    systems = [*models, *(file_system(path, plan.encoding, name) for named in files.values() for name, path in named)]
    systems += (baseline(name, plan.seed) for name in dict.fromkeys(plan.baselines))
    check_names([*(system.name for system in systems), *(key for key in groups if len(groups[key]) > 1), *families])
    groups |= families
    conventions = choose_conventions(plan, gold, systems)
    bound = plan.max_length if isinstance(plan.gold, Treebank) else bound_of(plan.gold, plan.max_length)
    trees = [system for system in systems if system.kind == "trees"]
    heads = [system for system in systems if system.kind == "heads"]
    characters = plan.characters or any(system.characters for system in trees)
    details = plan.details or bool(plan.by)
    scores, words = list[Score](), list[WordScore]()
    if plan.characters and not conventions.trees:
        raise SynparseError(f"{gold.name}: over characters only trees are scored, not heads")
    if conventions.trees and characters:
        trees, words = character_systems(trees, gold, max_length=bound)
        gold, bound, heads = character_treebank(up_to(gold, bound)), None, []
    if conventions.trees and trees:
        scores += score_trees(gold, trees, conventions.trees, max_length=bound, details=details)
    if conventions.heads and heads:
        rules = plan.head_rules
        scores += score_heads(gold, heads, conventions.heads, max_length=bound, rules=rules, details=details)
    if not scores:
        remedy = "heads: name a CoNLL-U file or --baseline next" if conventions.heads else "trees: name a file"
        raise SynparseError(f"nothing to score has {remedy}" + " or a --baseline" * (not conventions.heads))
    scores = list(with_digests(scores, gold))
    comparisons = compare_all(scores, groups) if plan.compare else []
    if plan.compare:
        check_compared(scores, comparisons)
    comparisons += compare_published(scores, groups, [Published.parse(text) for text in plan.published])
    comparisons = corrected_by_convention(comparisons)
    return Evaluation(gold, scores, comparisons, list(spreads_of(groups, scores)), words, plan.by)


def load_gold(plan: EvaluationPlan) -> Treebank:
    """The gold treebank of a plan. Its note says how many malformed sentences were left out."""
    if isinstance(plan.gold, Treebank):
        return plan.gold
    malformed = 0

    def count(error: TreebankError) -> None:
        nonlocal malformed
        malformed += 1
        if plan.on_bad:
            plan.on_bad(error)

    gold = load_whole(
        plan.gold,
        ptb=plan.ptb,
        on_bad=count if plan.on_bad else None,
        input_options=InputOptions(encoding=plan.encoding),
    )
    if not malformed:
        return gold
    return replace(gold, note=", ".join(filter(None, [gold.note, f"{malformed} malformed left out"])))


def with_digests(scores: Iterable[Score], gold: Treebank) -> Iterator[Score]:
    """The scores with the digests of their gold sentences, each computed once for all systems and conventions."""
    digests: dict[tuple[int, ...], str] = {}
    for score in scores:
        indices = tuple(score.indices)
        if indices not in digests:
            digests[indices] = digest(_selected(gold, indices))
        yield replace(score, sha256=digests[indices])


def _selected(gold: Treebank, indices: Iterable[int]) -> Treebank:
    return replace(gold, sentences=[gold.sentences[index] for index in indices])


def spreads_of(groups: Mapping[str, Sequence[str]], scores: Sequence[Score]) -> Iterator[Spread]:
    """Mean and deviation over the models of each group of several, for each convention and metric."""
    for pattern, folders in groups.items():
        members = [score for score in scores if score.info.source in folders and len(folders) > 1]
        for convention, metric in dict.fromkeys((score.convention, score.metric) for score in members):
            same = [score for score in members if (score.convention, score.metric) == (convention, metric)]
            values = {split_name(score.info.model)[1] or score.system: score.value for score in same}
            yield Spread(pattern, metric, convention, Runs(values), family_signature(same))


# --- conventions


class Conventions(NamedTuple):
    """The conventions under which trees and heads are scored."""

    trees: Sequence[ScoringConvention]
    heads: Sequence[AttachmentConvention]


def choose_conventions(plan: EvaluationPlan, gold: Treebank, systems: Sequence[System]) -> Conventions:
    """The conventions of the plan, by default those that fit the gold treebank and the systems.

    Raises SynparseError if gold has no trees to score with, or if a system has no convention, and UsageError if a named
    convention or head rules have no system.
    """
    heads = [ATTACHMENT_CONVENTIONS[name] for name in dict.fromkeys(plan.conventions) if name in ATTACHMENT_CONVENTIONS]
    of_trees = (find_convention(name) for name in plan.conventions if name not in ATTACHMENT_CONVENTIONS)
    trees = list(dict.fromkeys(of_trees))
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
            if named := next((system.name for system in gives[kind] if not system.is_parser), ""):
                raise SynparseError(f"{named} has {kind}, but no convention for {kind} was named")
            remedy = f"name a --convention for {kind} too, or a --decoder for {other}"
            raise SynparseError(f"{gives[kind][0].name} gives {kind}, not {other}; {remedy}")
    if trees and systems and not gives["trees"]:
        raise UsageError("conventions of trees require a system with trees; add --baseline right, or leave them out")
    if (heads or plan.head_rules) and systems and not gives["heads"]:
        options = "--head-rules and conventions of heads require a system with heads"
        raise UsageError(f"{options}; add a CoNLL-U file or --baseline next, or leave them out")
    return Conventions(trees, heads)


def _without_gold_trees(gold: Treebank, systems: Sequence[System]) -> str:
    """The error message for ``systems`` with trees, or a convention of trees, if gold has none."""
    problem = f"{gold.name}: gold has heads, but no trees"
    if not systems:
        return f"{problem}; name a convention of heads ({', '.join(ATTACHMENT_CONVENTIONS)})"
    remedy = "score heads, or name another treebank"
    if any(system.is_parser for system in systems):
        convert = "synparse convert GOLD --phrases-of-heads -o gold.mrg"
        remedy = f"name a --decoder of heads if there is one, or train with --heads, or score phrases: {convert}"
    elif systems[0].name in BASELINES:
        remedy = f"the baselines of heads are {', '.join(HEAD_BASELINES)}"
    return f"{problem} to score those of {systems[0].name} against; {remedy}"
