"""Measures of sharpness compared with values computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from induce.sharpness_measures import distance_sharpness, head_sharpness, span_sharpness


def test_entropy_of_uniform_and_certain_heads() -> None:
    uniform, certain = np.full((4, 4), 0.25), np.eye(4)
    assert head_sharpness(uniform) == pytest.approx({"head entropy": 2, "largest": 0.25})
    assert head_sharpness(certain) == pytest.approx({"head entropy": 0, "largest": 1})


def test_margin_of_splits_is_in_standard_deviations() -> None:
    """The gaps 3, 1, 2 split the sentence with a margin of 1, and its second part with a margin of 1."""
    deviation = float(np.std([3, 1, 2]))
    assert distance_sharpness([9.0, 3, 1, 2])["margin"] == pytest.approx(1 / deviation)
    assert distance_sharpness([0.0, 1, 1, 1]) == {"margin": 0.0, "split entropy": 1.0}


def test_sharpness_of_distances_does_not_depend_on_their_scale() -> None:
    distances = np.array([0.0, 2, 1, 2, 1, 2])
    assert distance_sharpness(10 * distances + 3) == pytest.approx(distance_sharpness(distances))


def test_entropy_of_spans_counts_probabilities_only() -> None:
    scores = np.full((3, 4), 0.5)
    assert span_sharpness(scores) == pytest.approx({"span entropy": 1, "largest": 0.5})
    assert span_sharpness(scores - 0.6) == {}
