"""Plan of a recipe job: series, shares of the text, seeds, and the stored decisions."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import inf
from pathlib import Path
from types import SimpleNamespace

import pytest

from induce.decoding.branching_direction import Direction
from induce.recipes.plan import STRONGEST, WEAKEST, Plan, prior_strength
from induce.recipes.recipe import read_recipe
from induce.recipes.schedule import wall_minutes
from induce.storage.facts import Check, RunFacts
from induce.training.request import RunRequest
from treebank.base.errors import SynparseError, UsageError

BEST = read_recipe("best")


def new_plan(folder: Path, minutes: float | None = 10.0, **options: object) -> Plan:
    request = RunRequest(run=str(folder), text=("text.txt",), device="cpu", **options)
    plan = Plan.open(request, BEST, minutes)
    if not request.resume:
        plan.begin()
    return plan


@pytest.mark.parametrize(("minutes", "count"), [(1, 1), (45, 1), (46, 2), (68, 3), (91, 4), (1000, 4)])
def test_as_many_series_as_there_is_time_for(tmp_path: Path, minutes: float, count: int) -> None:
    """A series takes 27.1 minutes of a core, and .6 of the time is for training."""
    plan = new_plan(tmp_path / "run", minutes)
    lines: list[str] = []
    plan.report = lines.append
    assert plan.choose_series(2) == BEST.series(count)
    assert lines == [f"{count} series of models"]
    resumed = new_plan(tmp_path / "run", 1.0, resume=True)
    assert resumed.choose_series(2) == BEST.series(count)  # independent of the present minutes


@pytest.mark.parametrize("cores", [1, 2, 3, 4, 8, 16, 64])
@pytest.mark.parametrize("minutes", [10.0, 60.0])
def test_training_and_students_fit_into_the_time(tmp_path: Path, cores: int, minutes: float) -> None:
    plan = new_plan(tmp_path / "run", minutes)
    stages = [*BEST.stages(plan.choose_series(cores)), BEST.student_members()]
    stretch = plan.stretch([member for stage in stages[:-1] for member in stage], cores)
    assert 0.6 * minutes <= stretch * sum(wall_minutes(stage, cores) for stage in stages) < 0.95 * minutes


@pytest.mark.parametrize(("minutes", "stretch"), [(10, 0.443), (20, 0.886), (60, 1.328)])
def test_two_cores_train_for_their_share_of_the_time(tmp_path: Path, minutes: float, stretch: float) -> None:
    plan = new_plan(tmp_path / "run", minutes)
    assert plan.stretch(plan.choose_series(2), 2) == pytest.approx(stretch, abs=5e-4)


def test_time_counts_over_all_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 60.0, 90.0, 500.0, 530.0, 800.0])
    monkeypatch.setattr("induce.recipes.plan.time", SimpleNamespace(monotonic=lambda: next(clock)))
    plan = new_plan(tmp_path / "run")  # written after a minute
    assert plan.minutes_left == 8.5
    resumed = new_plan(tmp_path / "run", None, resume=True)
    assert resumed.minutes_left == 8.5
    assert new_plan(tmp_path / "run", 3.0, resume=True).seconds == 0


def test_deleted_part_gets_the_full_time_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = new_plan(tmp_path / "run")
    plan.seconds, plan.series = 300.0, 1
    plan.finish("first-1")
    monkeypatch.setattr("induce.recipes.plan.resumable", lambda run: True)
    assert 300 < new_plan(tmp_path / "run", None, resume=True).seconds < 310
    monkeypatch.setattr("induce.recipes.plan.resumable", lambda run: False)
    assert new_plan(tmp_path / "run", None, resume=True).seconds == 0


def test_files_of_the_user_in_an_overwritten_job_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    new_plan(folder)
    files = [folder / "parts" / name for name in ("notes.txt", "mine/last/checkpoint.json", "first-1/notes.txt")]
    removed = [folder / "parts" / name for name in ("first-1/last/checkpoint.json", "vote/ensemble.json")]
    for path in (*files, *removed):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}", encoding="utf-8")
    new_plan(folder, overwrite=True)
    assert [path for path in (*files, *removed) if path.exists()] == files
    assert not (folder / "parts" / "vote").exists()


@pytest.mark.parametrize("minutes", [1e7, inf])
def test_more_minutes_than_a_plan_can_store_are_refused(tmp_path: Path, minutes: float) -> None:
    with pytest.raises(UsageError, match="minutes: a recipe takes less than 10,000,000; give fewer minutes"):
        new_plan(tmp_path / "run", minutes)


def test_seed_whose_members_would_have_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--seed 4294967295: a recipe takes seeds up to 42949662"):
        new_plan(tmp_path / "run", seed=2**32 - 1)


@pytest.mark.parametrize(
    ("minutes", "words", "count", "shares"),
    [
        (5, 100_000, 1, (0.6, 0.3)),
        (5, 40_000, 1, (1, 1)),
        (5, 75_000, 1, (0.8, 0.4)),
        (10, 100_000, 1, (1, 0.7)),
        (30, 300_000, 2, (0.6, 0.3)),
        (5, 10**9, 1, (0.001, 0.001)),
        (5, 0, 1, (1, 1)),
    ],
)
def test_as_much_of_a_long_text_is_used_as_can_be_parsed(
    tmp_path: Path, minutes: float, words: int, count: int, shares: tuple[float, float]
) -> None:
    """Two cores, which train for .6 of the minutes, at 4,000 words per second: in what 5 minutes leave, a
    grammar would learn from 960,000 words, a series be taught 120,000, or 60,000 be voted on."""
    recipe = replace(BEST, words_per_second=4000, teaching_cost=8, voting_cost=16)
    plan = new_plan(tmp_path / "run", minutes)
    plan.recipe, plan.words, plan.series = recipe, words, count
    lines = list[str]()
    plan.report = lines.append
    plan.choose_shares(0.6 * minutes, 2)
    assert (plan.text_share, plan.vote_share) == shares
    assert len(lines) == (shares[1] < 1)
    for member, share in zip((BEST.series(1)[0], BEST.student_members()[0]), shares, strict=True):
        assert plan.request_of(member).settings == ((f"data.text_share={share:g}",) if share < 1 else ())
    resumed = new_plan(tmp_path / "run", resume=True)
    assert (resumed.text_share, resumed.vote_share, resumed.words) == (*shares, words)


@pytest.mark.parametrize(
    ("minutes", "teaching_seconds", "share"),
    [(1.0, 50.0, 0.3), (0.5, 50.0, 0.15), (1.0, 120.0, 0.15), (1.0, 6000.0, 0.03), (-1.0, 60.0, 0.3)],
)
def test_students_learn_from_as_much_as_can_be_parsed_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minutes: float, teaching_seconds: float, share: float
) -> None:
    """Two cores, for which parsing for parts was planned to take a minute, and the same for students."""
    plan = new_plan(tmp_path / "run")
    plan.recipe = replace(BEST, words_per_second=1000, teaching_cost=1, voting_cost=2)
    plan.words, plan.series, plan.text_share, plan.vote_share = 200_000, 1, 0.6, 0.3
    plan.teaching_seconds = teaching_seconds
    plan.fit_vote_share(minutes, 2)
    assert plan.vote_share == share
    monkeypatch.setattr("induce.recipes.plan.has_begun", lambda run: True)
    plan.fit_vote_share(0.01, 2)
    assert plan.vote_share == share


def test_another_seed_gives_other_seeds_to_all_runs(tmp_path: Path) -> None:
    seeds = {}
    for seed in (None, 1, 2):
        plan = new_plan(tmp_path / str(seed), seed=seed)
        plan.write()
        seeds[seed] = [plan.request_of(member).seed for member in BEST.series(1)]
        resumed = new_plan(tmp_path / str(seed), resume=True)
        assert [resumed.request_of(member).seed for member in BEST.series(1)] == seeds[seed]
    assert seeds[None] == seeds[1] == [member.number for member in BEST.series(1)]
    assert not set(seeds[1]) & set(seeds[2])
    with pytest.raises(SynparseError, match="--seed cannot change on --resume: the run keeps 2"):
        new_plan(tmp_path / "2", seed=3, resume=True)


@pytest.mark.parametrize("count", [1, 3])
def test_every_teacher_has_as_many_students(tmp_path: Path, count: int) -> None:
    plan = new_plan(tmp_path / "run")
    plan.series = count
    teachers = Counter(name for member in BEST.series(count) for name in plan.teachers_of(member))
    once = dict.fromkeys([f"first-{k}" for k in range(1, 4 * count + 1)], 1)
    assert teachers == {**dict.fromkeys([f"segment-edges-{k}" for k in range(1, count + 1)], 3), **once}
    members = [member for member in BEST.series(count) if member.part.name in ("first", "second")]
    first, third, last = (plan.request_of(members[index]).teachers for index in (0, 2, -1))
    parts = tmp_path / "run" / "parts"
    assert first == (f"{parts}/segment-edges-1",)
    assert third == ()
    assert last == (f"{parts}/first-{4 * count - 2}", f"{parts}/first-{4 * count}")


def test_evidence_for_the_direction_is_decided_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    direction = Direction(7.0, 0.0, 0.0, 0.68, 2000)
    plan = new_plan(tmp_path / "run")
    monkeypatch.setattr(plan, "facts_of", lambda name: RunFacts(direction=direction))
    lines: list[str] = []
    plan.report = lines.append
    plan.report_branching(BEST.series(1)[0])
    assert lines == list(plan.log) == direction.lines()
    assert lines[1].startswith("warning: the text gives weak evidence")


def test_prior_is_the_weaker_the_more_teaching_lowers_perplexity() -> None:
    strengths = [prior_strength([100 * ratio], [100], 40_000) for ratio in (1.2, 1.0, 0.95, 0.9, 0.8)]
    assert strengths == [STRONGEST, STRONGEST, 0.88, 0.37, WEAKEST]
    assert prior_strength([90, 90], [80, 125], 40_000) == 0.37  # geometric means
    assert [prior_strength([1], [1], words) for words in (0, 160_000, 10**9)] == [STRONGEST, 1.0, WEAKEST]


def test_strength_is_decided_once_from_members_with_and_without_a_teacher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = new_plan(tmp_path / "run")
    plan.words = 40_000
    members = plan.choose_series(2)
    histories = {
        name: tuple(Check(epoch, 1, development_perplexity=value) for epoch, value in enumerate(perplexities, 1))
        for name, perplexities in {
            "first-1": [200.0, 90.0, 70.0],  # the others had no time for a third epoch
            "first-2": [200.0, 90.0],
            "first-3": [300.0, 80.0],
            "first-4": [300.0, 125.0],
        }.items()
    }
    monkeypatch.setattr(plan, "facts_of", lambda name: RunFacts(history=histories[name]))
    plan.done = ("segment-edges-1", "first-1", "first-2", "first-3")
    plan.estimate_strength(members)
    assert (plan.strength, plan.model_of("first-1").priors) == (0.0, "")
    plan.finish("first-4")
    plan.estimate_strength(members)
    assert plan.log[-1] == (
        "perplexity of the development text 90.0 with teachers and 100.0 without: prior segment-edges:0.37"
    )
    resumed = new_plan(tmp_path / "run", resume=True)
    resumed.estimate_strength(members)
    assert resumed.strength == 0.37
    assert resumed.model_of("second-1").priors == (
        "segment-edges:0.37+branching:0.1+punctuation:0.1+brackets:1+joining-marks:1"
    )
    assert resumed.model_of("segment-edges-1").priors == resumed.model_of("student-1").priors == ""
    second = next(member for member in members if member.part.name == "second")
    assert all("segment-edges:0.37" in teacher for teacher in resumed.new_request(second).teachers)
