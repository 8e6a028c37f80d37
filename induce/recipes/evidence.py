"""Evidence about trained models without gold trees: their perplexity, and the strength of a prior."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from statistics import geometric_mean

from induce.storage.checkpoint import RunFacts

# limits of the strength of the estimated prior, the power of the perplexity, and the words of a small text, which were
# fitted to the texts in docs/results/ensembles.md
WEAKEST, STRONGEST, STEEPNESS, FEW_WORDS = 0.25, 2.0, 16, 40_000


def perplexity(facts: RunFacts, epochs: float = inf) -> float:
    """The lowest perplexity of the development text in the first ``epochs`` of a run."""
    perplexities = (check.development_perplexity for check in facts.history if check.epoch <= epochs)
    return min(perplexities, default=inf)


def compared_perplexities(with_teacher: Sequence[RunFacts], free: Sequence[RunFacts]) -> tuple[float, float] | None:
    """Geometric mean perplexities of both groups of runs after equal epochs, or None if one has no epoch."""
    runs = [*with_teacher, *free]
    epochs = min((max((check.epoch for check in facts.history), default=0) for facts in runs), default=0)
    if not epochs:
        return None
    first, second = (geometric_mean([perplexity(facts, epochs) for facts in group]) for group in (with_teacher, free))
    return first, second


def prior_strength(with_teacher: float, free: float, words: float) -> float:
    """Strength of a prior for grammars that learned from a text of so many ``words``.

    The perplexities are those of grammars whose teacher has the same preference as the prior, and of others. If the
    teacher lowers the perplexity, its trees help to predict the words, and grammars improve on them: the prior is weak.
    If it does not, grammars drift to worse trees, and the prior is strong. Between the limits, each 4.2 % of perplexity
    halve the strength, and so does a text of four times as many words. The rule was fitted to 19 texts
    (docs/results/ensembles.md).

    >>> prior_strength(580.0, 615.0, 40_000)
    0.78
    """
    strength = STRONGEST * (with_teacher / free) ** STEEPNESS * sqrt(FEW_WORDS / max(words, 1))
    return round(min(STRONGEST, max(WEAKEST, strength)), 2)
