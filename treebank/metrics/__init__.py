"""Scores that carry their convention: ``METRICS`` by name, ``CONVENTIONS`` by name."""

from __future__ import annotations

from treebank.metrics.conventions import CONVENTIONS, ScoringConvention, find_convention
from treebank.metrics.report import Counts, ScoreReport

__all__ = ["CONVENTIONS", "METRICS", "Counts", "ScoreReport", "ScoringConvention", "find_convention"]

METRICS = {"UF1": "treebank.metrics.bracketing:score"}
