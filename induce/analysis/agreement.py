"""How much runs, files of trees and baselines agree with each other, without any gold tree.

Agreement with *other kinds* of model tells good kinds from bad ones; that of seeds of one kind says how steady the kind
is, and not how good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from induce.parsing.voters import Voter, Votes, make_voter
from induce.storage.model_spec import parse_model_spec
from treebank.base.errors import SynparseError
from treebank.core.normalization import RECIPES
from treebank.core.sentence import Sentence
from treebank.evaluate.statistics import bootstrap_interval

RECIPE = "words"
BASELINE = "baseline"


@dataclass(frozen=True)
class Pair:
    """How much two systems agree, in percent, over the sentences that both have trees for."""

    first: str
    second: str
    value: float
    interval: tuple[float, float]
    undirected: float | None = None  # of heads: arcs whichever way they point
    sentences: int = 0


@dataclass(frozen=True)
class System:
    """One system and its mean agreement, in percent; None where there is nobody to agree with."""

    name: str
    kind: str
    others: float | None  # with systems of other kinds, baselines aside
    own: float | None  # with systems of its kind, such as other seeds


@dataclass(frozen=True)
class Agreement:
    """All systems and all pairs of them."""

    metric: str  # F1 or UAS
    systems: tuple[System, ...]
    pairs: tuple[Pair, ...]
    sentences: int

    @property
    def signature(self) -> str:
        """What was counted."""
        counted = "avg:sent|root:drop|sentences:3 words and more" if self.metric == "F1" else "avg:words|root:counts"
        return f"agreement|{self.metric}|{counted}|recipe:{RECIPE}|text:{self.sentences} sentences"

    @property
    def chosen(self) -> System:
        """The system that agrees most with other kinds. Raises SynparseError where there is one kind only."""
        ranked = [one for one in self.systems if one.others is not None and one.kind != BASELINE]
        if not ranked:
            raise SynparseError("a choice needs models of two kinds at least: agreement does not tell seeds apart")
        return max(ranked, key=lambda one: one.others or 0.0)

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries."""
        return {
            "signature": self.signature,
            "systems": [vars(one) for one in self.systems],
            "pairs": [vars(one) for one in self.pairs],
        }

    def choice(self) -> dict[str, Any]:
        """What `--select` writes: the one chosen, its kind, and why."""
        ranked = sorted((one for one in self.systems if one.others is not None), key=lambda one: -(one.others or 0.0))
        return {
            "chosen": self.chosen.name,
            "kind": self.chosen.kind,
            "criterion": "largest mean agreement with other kinds; seeds of the same kind are not told apart by it",
            "signature": self.signature,
            "ranking": [{"name": one.name, "kind": one.kind, "others": one.others} for one in ranked],
        }


def agreement(
    systems: Sequence[str],
    text: Iterable[Sentence],
    *,
    load: Callable[..., Any],
    baselines: Sequence[str] = (),
    watched: Callable[[Sequence[Voter]], Iterable[Voter]] = iter,
) -> Agreement:
    """The agreement of ``systems`` (model specifications) and ``baselines`` on a text.

    ``load`` makes a parser of a run; ``watched`` passes on the voters and sees how far they are.
    Raises SynparseError for fewer than two, or trees and heads at a time.
    """
    members = [parse_model_spec(name) for name in (*systems, *(f"baseline:{name}" for name in baselines))]
    names = [member.name for member in members]
    if len(set(names)) < max(2, len(names)):
        raise SynparseError("agreement is between two different systems or more")
    voters = [make_voter(member, member.path, RECIPES[RECIPE], load) for member in members]
    outputs = {voter.output for voter in voters}
    if len(outputs) > 1:
        raise SynparseError("some give trees and some heads; name a decoder: RUN@decoder=heads-to-tree")
    sentences = [one for one in text if one.words]
    kept = [RECIPES[RECIPE](sentence.words, sentence.tags).kept for sentence in sentences]
    votes = [voter.vote(sentences, kept, False) for voter in watched(voters)]
    compare = shared_spans if outputs == {"trees"} else shared_heads
    pairs = [
        _pair((names[i], names[j]), [compare(a, b) for a, b in zip(votes[i], votes[j], strict=True)])
        for i in range(len(names))
        for j in range(i)
    ]
    found = tuple(_system(name, voter, voters, names, pairs) for name, voter in zip(names, voters, strict=True))
    return Agreement("F1" if outputs == {"trees"} else "UAS", found, tuple(pairs), len(sentences))


def shared_spans(first: Votes | None, second: Votes | None) -> tuple[float, float, float] | None:
    """F1 of two trees' brackets without the whole, as ``(100 F1, 1, 0)``; None for fewer than three words."""
    if first is None or second is None or len(first) < 3:
        return None
    shared, total = float((first * second).sum()) - 1, float(first.sum() + second.sum()) - 2  # both have the whole
    return (200 * shared / total if total else 100.0), 1.0, 0.0


def shared_heads(first: Votes | None, second: Votes | None) -> tuple[float, float, float] | None:
    """Words whose heads are the same, times 100, of how many; and arcs that both have in either direction."""
    if first is None or second is None or not len(first):
        return None
    same = float((first * second).sum())
    either = float((np.minimum(first + first.T, 1) * second).sum())
    return 100 * same, float(len(first)), 100 * either


def _pair(names: tuple[str, str], counts: Sequence[tuple[float, float, float] | None]) -> Pair:
    columns = [count for count in counts if count is not None]
    if not columns:
        raise SynparseError(f"{names[0]} and {names[1]} have no sentence of this text in common")
    matched, total, either = map(sum, zip(*columns, strict=True))
    interval = bootstrap_interval(columns, lambda sums: sums[:, 0] / np.maximum(sums[:, 1], 1e-12))
    undirected = either / total if either else None
    return Pair(names[1], names[0], matched / total, interval, undirected, len(columns))


def _system(name: str, voter: Voter, voters: Sequence[Voter], names: Sequence[str], pairs: Sequence[Pair]) -> System:
    kinds = dict(zip(names, (one.kind for one in voters), strict=True))
    partners = {one.second: one.value for one in pairs if one.first == name}
    partners |= {one.first: one.value for one in pairs if one.second == name}
    others = [v for partner, v in partners.items() if kinds[partner] not in (voter.kind, BASELINE)]
    own = [v for partner, v in partners.items() if kinds[partner] == voter.kind != BASELINE]
    return System(name, voter.kind, fmean(others) if others else None, fmean(own) if own else None)
