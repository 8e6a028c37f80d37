"""Priors of a parser, with the facts about its model and training text that they need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from induce.decoding.priors import EdgeStatistics, Evidence
from induce.decoding.specification import NO_PRIORS, Prior, check_priors, parse_priors
from induce.registry import PRIORS, load
from induce.structures import SpanScores, Structure
from treebank.base.errors import UsageError

PREFIX_SYMBOLS = "prefix-symbols"


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

    @cached_property
    def _functions(self) -> list[tuple[Callable[..., Any], float]]:
        """The function and the strength of each prior."""
        return [(load(PRIORS.get(prior.name).location), prior.strength) for prior in self.priors]

    def apply(self, structure: Structure, sentences: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[Scores]:
        """Scores of each sentence, given its word numbers and gaps."""
        rows = structure.rows()
        if not self.priors:
            return [Scores(row) for row in rows]
        symbols = structure.symbol_rows() if isinstance(structure, SpanScores) else None
        results = []
        for index, (row, (ids, gaps)) in enumerate(zip(rows, sentences, strict=True)):
            evidence = self._evidence(ids, gaps, None if symbols is None else symbols[index])
            results.append(self.adjust(row, evidence))
        return results

    def adjust(self, row: Any, evidence: Evidence) -> Scores:
        """Scores of one sentence, before and after the priors."""
        adjusted = row
        for function, strength in self._functions:
            adjusted = function(adjusted, evidence, strength)
        is_same = adjusted is row or np.array_equal(adjusted, row)
        return Scores(row, None if is_same else adjusted)

    def _evidence(self, ids: Sequence[int], gaps: Sequence[int], symbols: np.ndarray | None) -> Evidence:
        if self.statistics is None:
            return Evidence(gaps, self.right_probability)
        words = self.statistics.words[:, list(ids)]
        return Evidence(gaps, self.right_probability, words, symbols, self.statistics.symbols)


def requested_priors(
    text: str | None, default: Sequence[str], gives: Sequence[type[Structure]], *, has_counts: bool = False
) -> tuple[Prior, ...]:
    """Priors from the option ``text``, or ``default`` if it is None.

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
