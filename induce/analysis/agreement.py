"""Agreement of trained models, parsed files and baselines with each other, without gold annotation.

The agreement of two trees is the F1 of their brackets, and the agreement on a text is its mean over sentences. The
agreement of heads is the share of words with the same head. Agreement with models of *other types* separates good types
of model from bad ones; agreement of seeds of one type measures how stable the type is, but not how good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from induce.data.vocabulary import RECIPES
from induce.ensemble.voters import BaselineVoter, Voter, Votes, make_voter
from induce.storage.locate import parse_model_spec
from treebank.base.arguments import check_names
from treebank.base.errors import SynparseError
from treebank.base.tables import Cell, Column, Table
from treebank.core.sentence import Sentence
from treebank.evaluate.statistics import bootstrap_interval

RECIPE = "words"
BASELINE = "baseline"
MIN_WORDS = 3  # a shorter sentence has one binary tree only

Parts = Set[tuple[int, int]]  # brackets (start, end) without the full-sentence span, or arcs (word, head)


class Overlap(NamedTuple):
    """Agreement of two analyses of one sentence: of ``total`` trees or words, how many agree, times 100."""

    agreed: float
    total: float
    undirected: float = 0.0  # like ``agreed``, with arcs that agree in either direction


def tree_overlap(first: Parts, second: Parts) -> Overlap:
    """F1 of the brackets of two trees, 100 if neither tree has a bracket."""
    total = len(first) + len(second)
    return Overlap(200 * len(first & second) / total if total else 100.0, 1.0)


def head_overlap(first: Parts, second: Parts) -> Overlap:
    """Words of a sentence that have the same head in both analyses."""
    undirected = sum(arc in first or arc[::-1] in first for arc in second)
    return Overlap(100.0 * len(first & second), len(first), 100.0 * undirected)


def overall_agreement(overlaps: Sequence[Overlap]) -> float:
    """Agreement in percent over all sentences: mean of their F1, or share of their words."""
    return sum(overlap.agreed for overlap in overlaps) / sum(overlap.total for overlap in overlaps)


@dataclass(frozen=True)
class PairAgreement:
    """Agreement of two systems in percent."""

    first: str
    second: str
    value: float
    interval: tuple[float, float] | None
    undirected: float | None = None  # of heads: arcs in either direction

    @classmethod
    def of(
        cls, names: tuple[str, str], first: Sequence[Parts], second: Sequence[Parts], is_tree: bool
    ) -> PairAgreement:
        """Agreement of the systems ``names`` with these brackets or arcs of each sentence."""
        overlap = tree_overlap if is_tree else head_overlap
        overlaps = [overlap(left, right) for left, right in zip(first, second, strict=True)]
        interval = bootstrap_interval(overlaps, lambda sums: sums[:, 0] / np.maximum(sums[:, 1], 1e-12))
        words = sum(overlap.total for overlap in overlaps)
        undirected = None if is_tree else sum(overlap.undirected for overlap in overlaps) / words
        return cls(*names, overall_agreement(overlaps), interval, undirected)


@dataclass(frozen=True)
class SystemAgreement:
    """A system and its mean agreement in percent, or None if there is no system to compare with."""

    name: str
    type: str
    others: float | None  # with systems of other types, without baselines
    same: float | None  # with systems of the same type, such as other seeds

    @classmethod
    def of(cls, name: str, types: dict[str, str], pairs: Sequence[PairAgreement]) -> SystemAgreement:
        """Mean agreement of the system ``name`` with the others, given their ``types`` by name."""
        partners = {pair.second: pair.value for pair in pairs if pair.first == name}
        partners |= {pair.first: pair.value for pair in pairs if pair.second == name}
        others = [value for partner, value in partners.items() if types[partner] not in (types[name], BASELINE)]
        same = [value for partner, value in partners.items() if types[partner] == types[name] != BASELINE]
        return cls(name, types[name], fmean(others) if others else None, fmean(same) if same else None)


@dataclass(frozen=True)
class Agreement:
    """Agreement of each system and of each pair of systems."""

    metric: str  # F1 or UAS
    systems: tuple[SystemAgreement, ...]
    pairs: tuple[PairAgreement, ...]
    sentences: int

    @property
    def signature(self) -> str:
        """The convention of the values."""
        heads, trees = "avg:words|root:counts", f"avg:sent|root:drop|words:{MIN_WORDS}-"
        counted = trees if self.metric == "F1" else heads
        return f"agreement|{self.metric}|{counted}|recipe:{RECIPE}|sentences:{self.sentences}"

    @property
    def ranking(self) -> list[SystemAgreement]:
        """Systems by their mean agreement with systems of other types, highest first. Others are left out."""
        ranked = [system for system in self.systems if system.others is not None]
        return sorted(ranked, key=lambda system: -(system.others or 0.0))

    @property
    def chosen(self) -> SystemAgreement:
        """The model that agrees most with other types. Raises SynparseError if all models have one type."""
        models = [system for system in self.ranking if system.type != BASELINE]
        if not models:
            raise SynparseError("a choice needs models of two types: agreement does not rank seeds of one type")
        return models[0]

    def tables(self) -> list[Table]:
        """One row per system, if there are several models, and one per pair."""
        systems: list[list[Cell]] = [[system.name, system.type, system.others, system.same] for system in self.systems]
        columns = [Column("System"), Column("Type"), Column("Others", ".2f"), Column("Own", ".2f")]
        has_heads = self.metric == "UAS"
        pair_columns = [Column("System"), Column("And"), Column(self.metric, ".2f"), Column("95 % int.", ".1f")]
        pairs: list[list[Cell]] = [
            [pair.first, pair.second, pair.value, pair.interval, *[pair.undirected] * has_heads]
            for pair in sorted(self.pairs, key=lambda pair: -pair.value)
        ]
        pair_columns += [Column("UUAS", ".2f")] * has_heads
        several = sum(system.type != BaselineVoter.kind for system in self.systems) > 1
        return [
            *[Table("Mean agreement of each system", columns, systems)] * several,
            Table("Agreement of pairs", pair_columns, pairs, footnotes=[self.signature]),
        ]

    def to_json(self) -> dict[str, Any]:
        """The agreement as a JSON object."""
        return {
            "signature": self.signature,
            "systems": [vars(system) for system in self.systems],
            "pairs": [vars(pair) for pair in self.pairs],
        }

    def choice(self) -> dict[str, Any]:
        """The chosen model with its type and the ranking, as a JSON object."""
        return {
            "chosen": self.chosen.name,
            "type": self.chosen.type,
            "criterion": "largest mean agreement with other types, which does not rank seeds of one type",
            "signature": self.signature,
            "ranking": [{"name": system.name, "type": system.type, "others": system.others} for system in self.ranking],
        }


def agreement(
    systems: Sequence[str],
    text: Callable[[Iterable[str | None]], Iterable[Sentence]],
    *,
    load: Callable[..., Any],
    baselines: Sequence[str] = (),
    watched: Callable[[Sequence[Voter]], Iterable[Voter]] = iter,
) -> Agreement:
    """Agreement of ``systems`` (model specifications) and ``baselines`` on a text.

    ``text`` is called with the tokenization rules of the systems, and returns the sentences. ``load`` makes a parser of
    a model folder; ``watched`` iterates over the systems to show progress. Raises SynparseError if there are fewer than
    two systems or both trees and heads, if no sentence can be compared, and if a file lacks one.
    """
    specs = [parse_model_spec(name) for name in (*systems, *(f"baseline:{name}" for name in baselines))]
    names = [spec.label or spec.name for spec in specs]
    check_names(names)
    if len(names) < 2:
        raise SynparseError("agreement needs two or more systems")
    voters = [make_voter(spec, spec.path, RECIPES[RECIPE], load) for spec in specs]
    outputs = {voter.output for voter in voters}
    if len(outputs) > 1:
        remedy = "add a decoder to a model, RUN@decoder=heads-to-tree, and compare files of one type"
        raise SynparseError(f"some systems predict trees and some heads; {remedy}")
    is_tree = outputs == {"trees"}
    min_words = MIN_WORDS if is_tree else 1
    rules = [voter.tokenization for voter in voters]
    sentences = [sentence for sentence in text(rules) if len(_kept_indices(sentence)) >= min_words]
    if not sentences:
        raise SynparseError(f"nothing to compare: this text has no sentence of {min_words} or more words")
    indices = list(map(_kept_indices, sentences))
    parts = [  # one list per system
        [_parts(voter, *pair, is_tree) for pair in zip(sentences, voter.vote(sentences, indices, False), strict=True)]
        for voter in watched(voters)
    ]
    pairs = [
        PairAgreement.of((names[i], names[j]), parts[i], parts[j], is_tree)
        for i, j in combinations(range(len(names)), 2)
    ]
    types = {name: voter.kind for name, voter in zip(names, voters, strict=True)}
    rows = tuple(SystemAgreement.of(name, types, pairs) for name in names)
    return Agreement("F1" if is_tree else "UAS", rows, tuple(pairs), len(sentences))


def _kept_indices(sentence: Sentence) -> Sequence[int]:
    """Indices of the words that are compared."""
    return RECIPES[RECIPE](sentence.words, sentence.tags).indices


def _parts(voter: Voter, sentence: Sentence, vote: Votes | None, is_tree: bool) -> Parts:
    """Brackets or arcs of one sentence. Raises SynparseError if there is no vote."""
    if vote is None:
        kind = "tree" if is_tree else "heads"
        raise SynparseError(f"{voter.name}: no {kind} for the words of {sentence.location}; parse this text again")
    pairs = {(int(i), int(j)) for i, j in np.argwhere(vote)}
    return pairs - {(0, len(vote))} if is_tree else pairs
