"""Priors: preferences about trees, applied to the scores of a model before the decoder reads them.

Models return probabilities; what a user believes about trees in addition is stated here, one named function per
belief. ``[parse] priors = ["branching:0.1", "brackets:1"]`` lists names and strengths, and the scores of one sentence
pass through the list in order. Priors change which tree is chosen. They do not change probabilities that are reported,
and the signature of a score names them. docs/results/constituency.md shows scores with and without each prior.

Each prior is a pure function of the scores of one sentence, `Evidence` and a strength. Scores of spans (N, N + 1) have
in entry (i, j) the span from word i to word j - 1; scores of heads (N, N) have in row i the distribution over the head
of word i, the root on the diagonal. A *segment* is a maximal sequence of words without punctuation between them. Priors
of spans for a branching direction are averaged over both directions, weighted by their probabilities; factors are
averaged geometrically.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from induce.data.punctuation import (
    JOINED,
    NOTHING,
    SegmentEdgesConfig,
    bracket_conflicts,
    bracketed,
    join_conflicts,
    joined,
    span_log_weights,
)
from induce.decoding.branching_direction import CLEAR_PROBABILITY, is_clear
from induce.decoding.heads import branching, heads_in_tree
from induce.decoding.specification import NO_PRIORS, Prior, check_priors, parse_priors
from induce.registry import PRIORS, load
from induce.structures import SpanScores, Structure
from treebank.base.errors import SynparseError, UsageError

Array = np.ndarray

CONFLICT_COST = 3.0  # of a span that crosses a bracketed or joined phrase; such a phrase gains 1
CROSSING_COST = 2 / 3  # of a span that ends inside a later segment; a span that ends with its segment gains 1
PREFIX_SYMBOLS = "prefix-symbols"


@dataclass(frozen=True)
class EdgeStatistics:
    """Counts of a training text that priors use, collected without trees.

    ``words`` (2, V): how often each word begins, and ends, a segment, relative to the mean of all words. ``symbols``
    (2, S): how often spans of each nonterminal begin, and end, where a segment does.
    """

    words: Array
    symbols: Array


@dataclass(frozen=True)
class Evidence:
    """Facts about one sentence of N words that priors use besides the scores.

    ``gaps`` (N): the code of the punctuation before each word (`induce.data.punctuation`). ``word_edges`` (2, N) and
    ``symbol_edges`` (2, S): columns of `EdgeStatistics`. ``symbols`` (N, N + 1, S): probability of each nonterminal
    over each span. A model without the last three leaves them None.
    """

    gaps: Sequence[int]
    right_probability: float = 0.5  # of the direction in which the language branches
    word_edges: Array | None = None
    symbols: Array | None = None
    symbol_edges: Array | None = None


def brackets(scores: Array, evidence: Evidence, strength: float) -> Array:
    """Prefer spans between brackets.

    A bracketed phrase gains 1; a span that crosses it loses `CONFLICT_COST`, and so does a span that begins with the
    phrase and continues after it, because an aside belongs to the words before it. On CRAFT grammars gain two to five
    points of F1 with this prior, `joining_marks` and the same preference in training (docs/results/constituency.md).
    """
    phrases = bracketed(evidence.gaps)
    return scores + strength * _preferred(phrases, bracket_conflicts(evidence.gaps)) if phrases else scores


def joining_marks(scores: Array, evidence: Evidence, strength: float) -> Array:
    """Prefer spans of words joined by a punctuation mark, such as *wild - type*.

    Spans that cross them lose `CONFLICT_COST`.
    """
    phrases = joined(evidence.gaps)
    return scores + strength * _preferred(phrases, join_conflicts(evidence.gaps)) if phrases else scores


def _preferred(phrases: Sequence[tuple[int, int]], conflicts: Array) -> Array:
    """1 for each of ``phrases`` that is not the full sentence, minus the cost of ``conflicts`` (N, N + 1)."""
    bonus = -np.float32(CONFLICT_COST) * conflicts
    for start, end in set(phrases):
        if 1 < end - start < len(conflicts):
            bonus[start, end] += 1
    return bonus


def punctuation(scores: Array, evidence: Evidence, strength: float) -> Array:
    """Prefer spans that keep to segments, by branching direction.

    In a right-branching language a span that ends where its first segment ends gains 1, and a span that ends inside a
    later segment loses `CROSSING_COST`; in a left-branching language the mirror image.
    """

    def bonus(segments: Array) -> Array:
        starts = segment_starts(segments)
        starts[0] = False
        last = segments[np.maximum(np.arange(len(starts)) - 1, 0)]
        same = segments[:, None] == last
        return (same & starts).astype(np.float32) - np.float32(CROSSING_COST) * (~same & ~starts)

    return _directed(scores, evidence, strength, bonus)


def branching_spans(scores: Array, evidence: Evidence, strength: float) -> Array:
    """Prefer the spans of the purely branching tree: those that end (or begin) with the sentence gain 1.

    `branching_spans` and `punctuation` with 0.3 gave a focused English NPCFG three points of F1 on CRAFT; with 0.1, a
    penalty for spans that end with function words, and `prefix_symbols`, it was seven points
    (docs/results/constituency.md).
    """

    def bonus(segments: Array) -> Array:
        last_column = np.zeros((len(segments), len(segments) + 1), dtype=np.float32)
        last_column[:, -1] = 1
        return last_column

    return _directed(scores, evidence, strength, bonus)


def _directed(scores: Array, evidence: Evidence, strength: float, bonus: Callable[[Array], Array]) -> Array:
    """Scores plus the mean of ``bonus`` and its mirror image.

    ``bonus`` is a function from the segment of each word to the bonus (N, N + 1) in a right-branching language.
    """
    right, segments = evidence.right_probability, segments_of(evidence.gaps)
    mirrored = np.zeros_like(scores)
    mirrored[:, 1:] = bonus(segments[::-1])[::-1, :0:-1].T
    return scores + np.float32(strength) * (np.float32(right) * bonus(segments) + np.float32(1 - right) * mirrored)


def segment_edges(scores: Array, evidence: Evidence, strength: float) -> Array:
    """Prefer spans whose words begin and end segments, and that do not end with an article or a preposition.

    A span gains its log weight under the model ``segment-edges``, with its default weights, without cohesion, and with
    the counts of this model's training text (docs/reference/models/segment-edges.md).
    """
    if evidence.word_edges is None:
        return scores
    edges = segment_starts(segments_of(evidence.gaps))
    frequencies, right = evidence.word_edges[:, None], evidence.right_probability
    weights = span_log_weights(frequencies, edges[None], right, SegmentEdgesConfig())
    return scores + np.float32(strength) * weights[0].astype(scores.dtype)


def prefix_symbols(scores: Array, evidence: Evidence, strength: float) -> Array:
    """Penalize spans of nonterminals that often begin but rarely end a segment: prefixes of phrases, not phrases.

    A symbol counts min(1, strength x ends / beginnings); a span's score is multiplied by the expected value over its
    symbols. With a strength of 2 a grammar's recall of verb phrases on CRAFT rose from 30 to 44 %
    (docs/results/constituency.md).
    """
    symbols = evidence.symbols
    if symbols is None or evidence.symbol_edges is None:
        return scores
    begins, ends = evidence.symbol_edges
    prefixes, suffixes = _edge_ratios(ends, begins, strength), _edge_ratios(begins, ends, strength)
    values = prefixes ** np.float32(evidence.right_probability) * suffixes ** np.float32(1 - evidence.right_probability)
    total = symbols.sum(-1)
    return scores * np.divide(symbols @ values, total, out=np.ones_like(total), where=total > 0)


def initial_spans(scores: Array, evidence: Evidence, strength: float) -> Array:
    """Penalize spans of the first words of a sentence, in a right-branching language: the predicate is the rest.

    The score of the first k words is multiplied by (2 / k) to the power of strength x probability of right branching.
    It is for scores that are not negative, such as votes, so it comes before priors that subtract. The words alone
    rarely decide between *[she saw it] [in Rome]* and *she [saw it in Rome]* (docs/results/ensembles.md).
    """
    result, lengths = scores.copy(), np.arange(2, len(scores), dtype=np.float32)
    result[:1, 2 : len(scores)] *= (2 / lengths) ** np.float32(strength * evidence.right_probability)
    return result


def _edge_ratios(counts: Array, totals: Array, strength: float) -> Array:
    """min(1, ``strength`` x counts / totals) of each symbol, 1 for a total of 0."""
    ratios = np.divide(np.float32(strength) * counts, totals, out=np.ones_like(counts), where=totals > 0)
    return np.minimum(ratios, 1)


def branching_gaps(distances: Sequence[float], evidence: Evidence, strength: float) -> Sequence[float]:
    """Prefer early splits, by branching direction: the right-branching bias of Kim et al. (2020).

    In a right-branching language, the first gap between two words is widened by the mean of the gaps, the last one not
    at all, and those between in equal steps; in a left-branching language the mirror image. The gap before the sentence
    and a single gap do not change. The mean is that of absolute values, because distances can be negative.
    """
    gaps = np.asarray(distances[1:], dtype=float)
    if len(gaps) < 2:
        return distances
    early, right = np.linspace(1, 0, len(gaps)), evidence.right_probability
    widened = gaps + strength * np.abs(gaps).mean() * (right * early + (1 - right) * early[::-1])
    return [distances[0], *widened.tolist()]


def near_heads(heads: Array, evidence: Evidence, strength: float) -> Array:
    """Mix head distributions with a distribution that falls as exp(-distance).

    ``strength`` is the share of the latter. Most dependents are near their heads, whatever the words are. A
    share of 0.15 gives DMV one to two points of UAS in Tamil and Vietnamese and takes half a point in
    German (docs/results/dependencies.md).
    """
    return (1 - strength) * heads + strength * near_distribution(len(heads))


def near_distribution(count: int) -> Array:
    """Head distributions (N, N) proportional to exp(-distance), without a root.

    A single word is the root.
    """
    if count == 1:
        return np.ones((1, 1))
    distances = np.abs(np.subtract.outer(np.arange(count), np.arange(count))).astype(np.float64)
    weights = np.where(distances > 0, np.exp(1 - distances), 0.0)
    near: Array = weights / weights.sum(1, keepdims=True) if count else weights
    return near


def branching_heads(heads: Array, evidence: Evidence, strength: float) -> Array:
    """Mix head distributions with the best heads in the purely branching tree.

    ``strength`` is the share of the latter. The prior applies only if the direction is clear, because the mean of both
    directions lowers scores otherwise (docs/results/dependencies.md).
    """
    right = evidence.right_probability
    if not is_clear(right):
        return heads
    tree = branching(len(heads), right=right >= CLEAR_PROBABILITY)
    return (1 - strength) * heads + strength * heads_in_tree(heads, tree)


def segments_of(gaps: Sequence[int]) -> Array:
    """Number of the segment of each word (N,), from 0."""
    codes = np.asarray(gaps, dtype=np.int64)
    separated = (codes != NOTHING) & (codes != JOINED)
    separated[:1] = False
    numbers: Array = separated.cumsum()
    return numbers


def segment_starts(segments: Array) -> Array:
    """Whether a segment begins at each word (N + 1,). The last entry, the end of the sentence, is true."""
    return np.concatenate([[True], segments[1:] != segments[:-1], [True]])


class Scores(NamedTuple):
    """Scores of one sentence as returned by the model, and after the priors (None if they change nothing)."""

    row: Any
    adjusted: Any = None


@dataclass(frozen=True)
class AppliedPriors:
    """Priors in order of application. Priors for a structure that is not decoded have no effect."""

    priors: tuple[Prior, ...] = ()
    right_probability: float = 0.5  # that the language branches to the right
    statistics: EdgeStatistics | None = None

    def __str__(self) -> str:
        return ",".join(map(str, self.priors)) or NO_PRIORS

    def reading(self, structure: type[Structure]) -> AppliedPriors:
        """Only the priors that read ``structure``."""
        return replace(self, priors=tuple(prior for prior in self.priors if PRIORS.get(prior.name).reads is structure))

    @property
    def need_symbols(self) -> bool:
        """Whether a prior reads probabilities of nonterminals."""
        return any(prior.name == PREFIX_SYMBOLS for prior in self.priors)

    def apply(self, structure: Structure, sentences: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[Scores]:
        """Scores of each sentence, given its word numbers and gaps."""
        rows = structure.rows()
        if not self.priors:
            return [Scores(row) for row in rows]
        symbols = structure.symbol_rows() if isinstance(structure, SpanScores) else None
        results = []
        for index, (row, (ids, gaps)) in enumerate(zip(rows, sentences, strict=True)):
            evidence = Evidence(gaps, self.right_probability)
            if self.statistics is not None:
                words = self.statistics.words[:, list(ids)]
                row_symbols = None if symbols is None else symbols[index]
                evidence = Evidence(gaps, self.right_probability, words, row_symbols, self.statistics.symbols)
            results.append(self.adjust(row, evidence))
        return results

    def adjust(self, row: Any, evidence: Evidence) -> Scores:
        """Scores of one sentence, before and after the priors."""
        adjusted = row
        for prior in self.priors:
            adjusted = load(PRIORS.get(prior.name).location)(adjusted, evidence, prior.strength)
            if adjusted is None:
                raise SynparseError(f"prior {prior.name!r} has returned no scores")
        is_same = adjusted is row or np.array_equal(adjusted, row)
        return Scores(row, None if is_same else adjusted)


def requested_priors(
    text: str | None, default: Sequence[str], gives: Sequence[type[Structure]], *, has_counts: bool = False
) -> tuple[Prior, ...]:
    """Priors for a model that ``gives`` these structures, from the option ``text``, or ``default`` if it is None.

    ``text`` is ``none`` or a list of ``NAME:STRENGTH`` separated by commas or ``+``. Raises UsageError if the
    list is empty, and for a prior that is unknown or has no effect (`check_priors`).
    """
    if text is None:
        return parse_priors(default)
    listed = [part.strip() for part in text.replace("+", ",").split(",") if part.strip()]
    if not listed:
        raise UsageError(f"priors {text!r}: an empty list; write none, or NAME:STRENGTH such as branching:0.1")
    priors = parse_priors(listed)
    check_priors(priors, gives, has_counts=has_counts)
    return priors
