"""Several systems under several conventions against one gold treebank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol

from treebank.baselines import SEEDED, find_baseline
from treebank.errors import SynparseError
from treebank.formats.predictions import PredictedTree, read_prediction_trees
from treebank.metrics.alignment import Spans, View, view_treebank
from treebank.metrics.bracketing import Predicted, Reference, expected, score
from treebank.metrics.conventions import TOKENS, ScoringConvention
from treebank.metrics.report import ScoreReport
from treebank.sentence import Treebank
from treebank.tagset import has_penn_tags
from treebank.tree import Tree


class System(Protocol):
    """Something that gives brackets to gold sentences."""

    @property
    def name(self) -> str: ...

    @property
    def seed(self) -> int | None: ...

    def spans(self, views: Sequence[View], wanted: Sequence[bool]) -> list[Spans]:
        """Brackets over each view's words, in pre-order; those of views that are not wanted may be empty."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Trees built from the number of words; a random one draws over the whole treebank, whatever is wanted of it."""

    name: str
    random_seed: int = 1

    @property
    def seed(self) -> int | None:
        return self.random_seed if self.name in SEEDED else None

    def spans(self, views: Sequence[View], wanted: Sequence[bool]) -> list[Spans]:
        build, chance = find_baseline(self.name), Random(self.random_seed)
        return [build(view.tree, chance) for view in views]


@dataclass(frozen=True, slots=True)
class Expectation:
    """A random baseline by the exact expectation of its score, with a few runs beside it."""

    name: str
    seeds: Sequence[int] = (1, 2, 3, 4, 5)
    seed: None = None

    def runs(self, views: Sequence[View]) -> dict[str, list[Spans]]:
        """The brackets of each run."""
        return {str(seed): Baseline(self.name, seed).spans(views, ()) for seed in self.seeds}


@dataclass(frozen=True, slots=True)
class Predictions:
    """Trees of a parser, one for each gold sentence, or for each one that is short enough to be scored."""

    name: str
    trees: Sequence[PredictedTree]
    seed: int | None = None

    @classmethod
    def of_model(cls, name: str, trees: Iterable[Tree]) -> Predictions:
        """The trees that a model gave, in order."""
        return cls(name, [PredictedTree(name, i, "", tree) for i, tree in enumerate(trees, start=1)])

    @classmethod
    def of_file(cls, path: str) -> Predictions:
        """The trees of a file. Raises TreebankError with file and line if they cannot be read."""
        return cls(path, list(read_prediction_trees(path)))

    def spans(self, views: Sequence[View], wanted: Sequence[bool]) -> list[Spans]:
        """Brackets over each view's words. Raises SynparseError if the trees are of other sentences."""
        if len(self.trees) == len(views):
            chosen = range(len(views))
        else:
            chosen = [i for i, is_wanted in enumerate(wanted) if is_wanted]  # type: ignore[assignment]
        if len(self.trees) != len(chosen):
            raise SynparseError(self._miscount(views, wanted))
        spans: list[Spans] = [()] * len(views)
        for i, tree in zip(chosen, self.trees, strict=True):
            spans[i] = views[i].reduce(tree)
        return spans

    def _miscount(self, views: Sequence[View], wanted: Sequence[bool]) -> str:
        """What is wrong with the number of trees: where the words part, else which tree is missing or too many."""
        gold = views[0].sentence.place.path if views else "gold"
        counts = f"{_count(len(self.trees), 'tree')} for the {_count(len(views), 'sentence')} of {gold}"
        if not all(wanted):
            return f"{self.name}: {counts}, of which {sum(wanted)} are scored; give one for each or each scored"
        for view, tree in zip(views, self.trees, strict=False):
            try:
                view.reduce(tree)
            except SynparseError as error:
                return f"{error} ({counts})"
        if len(self.trees) < len(views):
            return f"{self.name}: {counts}; the one for {views[len(self.trees)].sentence.place} is missing"
        extra, last = self.trees[len(views)], views[-1].sentence.place
        return f"{extra.path}:{extra.line}: a tree too many after that for {last} ({counts})"


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'s' * (number != 1)}"


def evaluate(
    gold: Treebank,
    systems: Sequence[System | Expectation],
    conventions: Iterable[ScoringConvention],
    *,
    max_length: int | None = None,
    details: bool = False,
) -> list[ScoreReport]:
    """One report for each convention and system, in the order given, conventions first.

    Where few words of ``gold`` carry a tag of the Penn Treebank, tags cannot say what is a word: then every token with
    a letter or a digit is one, and the signature says so (``tokens:letters``).
    """
    data = f"{gold.name} ({gold.note})" if gold.note else gold.name
    tokens_of_penn = has_penn_tags(gold)
    wanted = [_short_enough(length, max_length) for length in _lengths(gold)]
    seen: dict[str, tuple[list[View], list[dict[str, list[Predicted]]]]] = {}
    reports = []
    for convention in conventions:
        if convention.tokens == "words" and not tokens_of_penn:
            convention = convention.over("letters")
        if convention.tokens not in seen:
            views = view_treebank(gold, convention.tokens)
            seen[convention.tokens] = views, [_trees(system, views, wanted, details) for system in systems]
        views, given = seen[convention.tokens]
        reference = Reference.of(views, convention.up_to(max_length), data=data, wanted=wanted)
        for system, trees in zip(systems, given, strict=True):
            runs = {name: [run[i] for i in reference.places] for name, run in trees.items()}
            if isinstance(system, Expectation):
                reports.append(expected(system.name, reference, SEEDED[system.name], runs, details=details))
            else:
                reports.append(score(system.name, reference, *runs.values(), seed=system.seed, details=details))
    return reports


def _trees(
    system: System | Expectation, views: Sequence[View], wanted: Sequence[bool], details: bool
) -> dict[str, list[Predicted]]:
    """The trees of each run of a system, usually one run, for every view; of an expectation without details."""
    details = details and not isinstance(system, Expectation)
    runs = system.runs(views) if isinstance(system, Expectation) else {"": system.spans(views, wanted)}
    return {
        name: [Predicted.of(one, view, details=details) for one, view in zip(spans, views, strict=True)]
        for name, spans in runs.items()
    }


def _lengths(gold: Treebank) -> list[int]:
    """Words of each sentence with a tree, counted as the default convention does."""
    survive = TOKENS["words" if has_penn_tags(gold) else "letters"]
    return [0 if sentence.tree is None else sum(survive(sentence.tree)) for sentence in gold.sentences]


def shorter(gold: Treebank, max_length: int) -> Treebank:
    """The sentences of ``gold`` with 1 to ``max_length`` words, counted as the default convention does."""
    lengths = _lengths(gold)
    kept = [one for one, length in zip(gold.sentences, lengths, strict=True) if _short_enough(length, max_length)]
    return replace(gold, sentences=kept)


def _short_enough(length: int, max_length: int | None) -> bool:
    """Whether a sentence is within the bound and not empty; without a bound every sentence is."""
    return max_length is None or 0 < length <= max_length
