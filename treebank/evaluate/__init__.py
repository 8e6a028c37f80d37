"""Scores that carry their convention: ``METRICS`` by name, ``CONVENTIONS`` by name."""

from __future__ import annotations

from treebank.evaluate.conventions import CONVENTIONS, ScoringConvention, find_convention
from treebank.evaluate.score import Counts, ScoreReport

__all__ = ["CONVENTIONS", "METRICS", "Counts", "ScoreReport", "ScoringConvention", "find_convention"]

METRICS = {"UF1": "treebank.evaluate.uf1:score"}
