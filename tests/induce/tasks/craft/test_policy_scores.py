"""Scores of segments and options against values computed by hand, and rollouts of policies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from induce.decoding.distances import segments
from induce.tasks.craft.demonstrations import Craft, CraftSettings, demonstrate
from induce.tasks.craft.ocn import FIRST, OptionController, OptionControllerConfig
from induce.tasks.craft.policy_scores import (
    CraftScore,
    alignment,
    boundary_f1,
    labels_of,
    mean_of,
    mutual_information,
    option_success,
    probable,
    subtasks_of,
    success,
    widest,
)
from induce.tasks.craft.world import KIND, Episodes, draw, treasure_of


def test_ends_are_the_most_probable_gaps() -> None:
    gaps = [1.0, 0.2, 0.7, 0.1, 0.7, 0.6]
    assert widest(gaps, 3) == [1, 3, 5]
    assert widest(gaps, 2) == [1, 5]
    assert widest(gaps, 1) == [5]
    assert probable(gaps) == [1, 3, 4, 5]
    assert sorted(segments(gaps)) == [(0, 2), (0, 6), (2, 4)]
    assert segments([1.0, 0.2, 0.3]) == [(0, 3)]
    assert segments([1.0]) == segments([]) == []


@pytest.mark.parametrize(
    ("predicted", "true", "tolerance", "f1"),
    [
        ([3, 9], [3, 9], 0, 1.0),
        ([4, 9], [3, 9], 0, 0.5),
        ([4, 9], [3, 9], 1, 1.0),
        ([8, 9], [3, 9], 1, 2 / 3),  # two predictions near one end: precision 1, recall 1/2
        ([], [3], 1, 0.0),
        ([], [], 0, 1.0),
        ([7], [3], 1, 0.0),
    ],
)
def test_f1_counts_ends_within_the_tolerance(predicted: list[int], true: list[int], tolerance: int, f1: float) -> None:
    assert boundary_f1(predicted, true, tolerance) == pytest.approx(f1)


def test_alignment_compares_segment_indices() -> None:
    assert labels_of([1, 4], 5).tolist() == [0, 0, 1, 1, 1]
    assert alignment([1, 4], [1, 4], 5) == 1
    assert alignment([3, 4], [1, 4], 5) == pytest.approx(3 / 5)


def test_mutual_information_equals_known_values() -> None:
    same = np.array([0, 0, 1, 1, 2])
    assert mutual_information(same, np.array([5, 5, 3, 3, 9])) == pytest.approx(1)
    assert mutual_information(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])) == pytest.approx(0)
    assert mutual_information(np.zeros(4, int), np.zeros(4, int)) == 1
    merged = mutual_information(np.array([0, 0, 1, 1]), np.array([0, 1, 2, 2]))
    assert merged == pytest.approx(math.log(2) / ((math.log(2) + 1.5 * math.log(2)) / 2))


def test_steps_have_the_subtask_of_their_segment() -> None:
    demonstration = next(Craft().generate(CraftSettings(sketches="DA"), "train", 1))
    labels = subtasks_of(demonstration).tolist()
    assert labels == [3] * (demonstration.ends[0] + 1) + [0] * (demonstration.ends[1] - demonstration.ends[0])


def test_scripted_policy_succeeds_in_all_solvable_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = Episodes("AC", 12, seed=5, renew=False)
    script = demonstrate(episodes.worlds, "AC")
    model = OptionController(OptionControllerConfig(hidden_size=2, inner_size=2), FIRST + 5)
    times = iter(range(64))

    def act(observations: torch.Tensor, state: Any, *, first: bool) -> tuple[torch.Tensor, None, Any]:
        actions = torch.from_numpy(np.maximum(script.actions[:, next(times)], 0))
        return torch.nn.functional.one_hot(actions, 5).double(), None, state

    monkeypatch.setattr(model, "act", act)
    assert success(model, "AC", 0, count=12, seed=5) == script.solved.mean() > 0.9
    times = iter([0] * 64)
    assert success(model, "AC", 0, count=12, seed=5) < 0.5


def test_option_succeeds_if_its_first_gain_is_the_goal() -> None:
    """Options that always use the faced cell gain only objects that are in front of the agent."""
    model = OptionController(OptionControllerConfig(options=2, hidden_size=2, inner_size=2), FIRST + 5)
    with torch.no_grad():
        model.options.outer.zero_()
        model.options.outer_bias.zero_()
        model.options.outer_bias[:, 0, 4] = 9  # use
        model.options.outer_bias[:, 0, -1] = -9
    table = option_success(model, "AC", count=200, seed=1)
    worlds = draw(np.random.default_rng(1), 200, treasure_of("AC"))
    cells = worlds.faced()
    kinds = worlds.grid[np.arange(200), cells[:, 0], cells[:, 1]]
    expected = [(kinds == KIND[name]).mean() for name in ("wood", "iron")]
    assert table.tolist() == [expected, expected]
    assert 0 < expected[0] < 0.2


def test_signature_of_a_mean_names_only_shared_fields() -> None:
    members = [CraftScore("ocn", f"craft|model:ocn|checkpoint:{run}|v:1", {"NMI": run}, {}, {}) for run in (1, 3)]
    mean = mean_of("mean", members)
    assert (mean.signature, mean.values["NMI"]) == ("craft|model:ocn|v:1", 2)
