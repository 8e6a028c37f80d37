"""One evaluation: a plan of names, scored against one gold treebank, and everything that comes of it.

Gold is read once, goes down to the systems as views, and comes back as counts (see docs/architecture.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from html import escape
from typing import Any, NamedTuple

from treebank.base.errors import SynparseError, TreebankError, UnknownNameError
from treebank.base.garbage import no_collections
from treebank.base.registry import nearest
from treebank.core.baselines import BASELINES, SEEDED
from treebank.core.head_rules import find_rules
from treebank.core.sentence import Treebank
from treebank.corpora.catalog import bound_of, digest, load_whole, up_to
from treebank.evaluate.characters import WordScore, spelt_systems, spelt_treebank
from treebank.evaluate.compare import Comparison, compare_all
from treebank.evaluate.conventions import (
    ATTACHMENT_CONVENTIONS,
    CONVENTIONS,
    AttachmentConvention,
    Convention,
    ScoringConvention,
    find_convention,
)
from treebank.evaluate.score import Runs, ScoreReport
from treebank.evaluate.systems import (
    HEAD_BASELINES,
    Baseline,
    Expectation,
    HeadBaseline,
    HeadPredictions,
    HeadSystem,
    ParsedHeads,
    ParsedTrees,
    Predictions,
    TreeSystem,
)
from treebank.evaluate.uas import score_heads
from treebank.evaluate.uf1 import score_trees
from treebank.io.lines import OnBad
from treebank.io.predictions import gives_heads

Models = Sequence[ParsedTrees | ParsedHeads]


@dataclass(frozen=True, kw_only=True)
class EvaluationPlan:
    """What is scored against what, and how: names and paths, checked when the plan is made, before anything is read.

    ``gold``: a treebank, or the name or path of one. ``predicted``: files or folders of trees or, by suffix, of heads.
    ``conventions``: without any, those that fit. ``seed``: draw random baselines once from it, instead of their exact
    expectation. ``head_rules``: gold heads from trees. ``characters``: score trees over characters, as is done for
    models of characters (see `treebank.evaluate.characters`). ``details``: also the scores by length, height, relation
    and distance. ``on_bad``: is told of each broken gold sentence, which is left out; without it the first one raises.
    """

    gold: str | Treebank
    predicted: Sequence[str] = ()
    baselines: Sequence[str] = ()
    conventions: Sequence[str] = ()
    max_length: int | None = None
    seed: int | None = None
    head_rules: str | None = None
    compare: bool = False
    details: bool = False
    characters: bool = False
    ptb: str | None = None
    on_bad: OnBad | None = None

    def __post_init__(self) -> None:
        """Raises SynparseError for an unknown name."""
        known: Mapping[str, Convention] = {**CONVENTIONS, **ATTACHMENT_CONVENTIONS}
        for name in self.conventions:
            first = name.partition(",")[0]
            if name not in ATTACHMENT_CONVENTIONS and first in ATTACHMENT_CONVENTIONS:
                raise SynparseError(f"convention {name!r}: those of heads cannot be changed, but by --max-length")
            if ":" not in name and first not in known:
                raise UnknownNameError(f"no convention {name!r}; {nearest(name, known)}")
            if name not in ATTACHMENT_CONVENTIONS:
                find_convention(name)
        for name in self.baselines:
            if name not in BASELINES and name not in HEAD_BASELINES:
                raise UnknownNameError(f"no baseline {name!r}; {nearest(name, [*BASELINES, *HEAD_BASELINES])}")
        if self.head_rules:
            find_rules(self.head_rules)

    @property
    def needs_models(self) -> bool:
        """Whether a model is to be looked for where none is named: no file is, nor baselines of heads alone."""
        return not self.predicted and not (self.baselines and all(name in HEAD_BASELINES for name in self.baselines))

    @property
    def head_files(self) -> list[str]:
        return [path for path in self.predicted if gives_heads(path)]

    @property
    def tree_files(self) -> list[str]:
        return [path for path in self.predicted if not gives_heads(path)]

    def tree_systems(self, models: Models) -> list[TreeSystem | Expectation]:
        """Models, files and baselines that give trees."""
        systems: list[TreeSystem | Expectation] = [model for model in models if isinstance(model, ParsedTrees)]
        systems += map(Predictions.of_file, self.tree_files)
        for name in self.baselines:
            if name in SEEDED and self.seed is None:
                systems.append(Expectation(name))
            elif name in BASELINES:
                systems.append(Baseline(name, 1 if self.seed is None else self.seed))
        return systems

    def head_systems(self, models: Models) -> list[HeadSystem]:
        """Models, files and baselines that give heads."""
        systems: list[HeadSystem] = [model for model in models if isinstance(model, ParsedHeads)]
        systems += map(HeadPredictions.of_file, self.head_files)
        systems += [HeadBaseline(name) for name in self.baselines if name in HEAD_BASELINES]
        return systems


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and deviation over several models that one pattern names, such as ``runs/seed-*``."""

    pattern: str
    metric: str
    convention: str
    runs: Runs  # the values of the models, by folder

    def to_json(self) -> dict[str, Any]:
        """The entry of this group in the output of ``synparse eval --format json``."""
        return {"systems": self.pattern, "metric": self.metric, "convention": self.convention, **self.runs.to_json()}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All scores against one gold treebank: of trees, then of heads; conventions first, then systems."""

    gold: Treebank  # as it was read; the ``places`` of a report are of its sentences
    reports: Sequence[ScoreReport]
    comparisons: Sequence[Comparison] = ()
    spreads: Sequence[Spread] = ()
    words: Sequence[WordScore] = ()  # where trees are over characters

    @property
    def scored(self) -> Treebank:
        """The gold sentences that at least one report scores."""
        places = sorted({place for report in self.reports for place in report.places})
        return replace(self.gold, sentences=[self.gold.sentences[place] for place in places])

    def _repr_html_(self) -> str:
        """The scores as the table that a notebook shows; the signature is there where the pointer rests on a value."""
        rows = []
        for one in self.reports:
            low, high = one.interval
            value = f'<td title="{escape(one.signature)}">{one.value:.1f}</td><td>{low:.1f}–{high:.1f}</td>'
            numbers = f"<td>{one.precision:.1f}</td><td>{one.recall:.1f}</td><td>{len(one.counts):,}</td>"
            names = "".join(f"<td>{escape(name)}</td>" for name in (one.system, one.convention.name, one.metric))
            rows.append(f"<tr>{names}{value}{numbers}</tr>")
        header = ("System", "Convention", "Metric", "Score", "95 % interval", "Precision", "Recall", "Sentences")
        heads = "".join(f"<th>{name}</th>" for name in header)
        return f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n" + "\n".join(rows) + "\n</tbody>\n</table>"

    @property
    def sha256(self) -> str:
        """The digest of the gold sentences that are scored, which every signature has the first twelve digits of."""
        return self.reports[0].sha256 if self.reports else ""

    def to_pandas(self) -> Any:
        """A pandas ``DataFrame`` with a row for each score. Raises SynparseError where pandas is not installed."""
        try:
            from pandas import DataFrame
        except ImportError:
            raise SynparseError("pandas is not installed; pip install pandas") from None
        return DataFrame([self._row(one) for one in self.reports])

    @staticmethod
    def _row(one: ScoreReport) -> dict[str, Any]:
        low, high = one.interval
        return {
            "system": one.system,
            "convention": one.convention.name,
            "metric": one.metric,
            "value": one.value,
            "low": low,
            "high": high,
            "precision": one.precision,
            "recall": one.recall,
            "sentences": len(one.counts),
            "signature": one.signature,
        }

    def to_json(self) -> dict[str, Any]:
        """What ``synparse eval --format json`` writes (see docs/conventions.md)."""
        scored = self.scored
        head = {"name": scored.name, "sentences": len(scored), "sha256": self.sha256, "note": scored.note}
        document: dict[str, Any] = {"gold": head, "scores": [report.to_json() for report in self.reports]}
        if self.comparisons:
            document["comparisons"] = [comparison.to_json() for comparison in self.comparisons]
        if self.words:
            document["words"] = [score.to_json() for score in self.words]
        if self.spreads:
            document["groups"] = [spread.to_json() for spread in self.spreads]
        return document


def evaluate(
    plan: EvaluationPlan, models: Models = (), groups: Mapping[str, Sequence[str]] | None = None
) -> Evaluation:
    """Score everything that the plan names, and ``models``, which see no gold annotation but tags.

    ``groups``: pattern -> the folders of the models that it names, for mean and deviation.
    Raises SynparseError for what cannot be read, scored or aligned.
    """
    with nullcontext() if models else no_collections():  # a model may leave circles behind
        return _evaluate(plan, models, groups or {})


def _evaluate(plan: EvaluationPlan, models: Models, groups: Mapping[str, Sequence[str]]) -> Evaluation:
    gold = load_gold(plan)
    tree_conventions, head_conventions = choose_conventions(plan, gold, models)
    bound = plan.max_length if isinstance(plan.gold, Treebank) else bound_of(plan.gold, plan.max_length)
    reports: list[ScoreReport] = []
    trees, words = plan.tree_systems(models), list[WordScore]()
    if plan.characters and not tree_conventions:
        raise SynparseError(f"{gold.name}: over characters only trees are scored, not heads")
    if tree_conventions and (plan.characters or any(getattr(one, "characters", False) for one in trees)):
        gold, bound = up_to(gold, bound), None
        trees, words = spelt_systems(trees, gold)
        gold, head_conventions = spelt_treebank(gold), ()
    if tree_conventions and trees:
        reports += score_trees(gold, trees, tree_conventions, max_length=bound, details=plan.details)
    if head_conventions and (heads := plan.head_systems(models)):
        rules = plan.head_rules
        reports += score_heads(gold, heads, head_conventions, max_length=bound, rules=rules, details=plan.details)
    if not reports:
        kind = (
            "heads: name a CoNLL-U file or --baseline next"
            if head_conventions
            else "trees: name a file or a --baseline"
        )
        raise SynparseError(f"nothing to score has {kind}")
    sha256 = digest(Evaluation(gold, reports).scored)
    reports = [replace(report, sha256=sha256) for report in reports]
    comparisons = compare_all(reports) if plan.compare else []
    return Evaluation(gold, reports, comparisons, list(spreads_of(groups, reports)), words)


def load_gold(plan: EvaluationPlan) -> Treebank:
    """The gold treebank of a plan; its note says how many sentences were broken and left out."""
    if isinstance(plan.gold, Treebank):
        return plan.gold
    broken = 0

    def count(error: TreebankError) -> None:
        nonlocal broken
        broken += 1
        if plan.on_bad:
            plan.on_bad(error)

    gold = load_whole(plan.gold, ptb=plan.ptb, on_bad=count if plan.on_bad else None)
    if not broken:
        return gold
    return replace(gold, note=", ".join(filter(None, [gold.note, f"{broken} broken left out"])))


class _Chosen(NamedTuple):
    trees: Sequence[ScoringConvention]
    heads: Sequence[AttachmentConvention]


def choose_conventions(plan: EvaluationPlan, gold: Treebank, models: Models) -> _Chosen:
    """The conventions of the plan; without any, the default ones that fit the gold treebank and what is scored.

    Raises SynparseError for what no convention scores.
    """
    heads = [ATTACHMENT_CONVENTIONS[name] for name in plan.conventions if name in ATTACHMENT_CONVENTIONS]
    trees = [find_convention(name) for name in plan.conventions if name not in ATTACHMENT_CONVENTIONS]
    given = _given(plan, models)
    has_trees = all(sentence.tree is not None for sentence in gold.sentences)
    if not heads and not trees:
        asks_heads = bool(given["heads"] or plan.head_rules)
        if asks_heads or not has_trees:
            heads = [ATTACHMENT_CONVENTIONS["udgn"]]
        if has_trees and (given["trees"] or not asks_heads):
            trees = [CONVENTIONS["on-lstm"]]
        elif any(isinstance(model, ParsedTrees) for model in models):
            problem = f"{gold.name}: there are no trees to score those of the models against, only heads"
            raise SynparseError(f"{problem}; of a model that also gives heads, name a --decoder for these")
    if trees and not has_trees:
        raise SynparseError(f"{gold.name}: there are no trees to score against, only heads (conventions udgn, …)")
    for kind, wanted, other in (("trees", trees, "heads"), ("heads", heads, "trees")):
        if given[kind] and not wanted:
            raise SynparseError(_unwanted(given[kind][0], kind, other))
    return _Chosen(trees, heads)


def _given(plan: EvaluationPlan, models: Models) -> dict[str, list[str]]:
    """What gives trees and what gives heads: baselines, files, "" for models."""
    model_trees = [""] * any(isinstance(model, ParsedTrees) for model in models)
    model_heads = [""] * any(isinstance(model, ParsedHeads) for model in models)
    return {
        "trees": [*(name for name in plan.baselines if name in BASELINES), *plan.tree_files, *model_trees],
        "heads": [*(name for name in plan.baselines if name in HEAD_BASELINES), *plan.head_files, *model_heads],
    }


def _unwanted(name: str, kind: str, other: str) -> str:
    if name:
        return f"{name} has {kind}, but no convention for {kind} was named"
    return f"the models here give {kind}, not {other}; name a --convention for {kind}, or a --decoder for {other}"


def spreads_of(groups: Mapping[str, Sequence[str]], reports: Sequence[ScoreReport]) -> Iterator[Spread]:
    """Mean and deviation over the models of each group of several, for each convention and metric."""
    for pattern, folders in groups.items():
        members = [report for report in reports if report.model in folders and len(folders) > 1]
        for convention, metric in dict.fromkeys((report.convention, report.metric) for report in members):
            same = [report for report in members if (report.convention, report.metric) == (convention, metric)]
            yield Spread(pattern, metric, convention.name, Runs({report.model: report.value for report in same}))
