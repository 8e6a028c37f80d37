"""A recipe job: its time, the seeds of its runs, and its stored decisions."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from types import SimpleNamespace

import pytest

from induce.recipes.recipe import read_recipe
from induce.recipes.recipe_job import STRONGEST, WEAKEST, RecipeJob, prior_strength
from induce.storage.checkpoint import Check, RunFacts
from induce.training.request import RunRequest
from treebank.base.errors import SynparseError, UsageError

BEST = read_recipe("best")


def new_job(folder: Path, minutes: float | None = 10.0, **options: object) -> RecipeJob:
    request = RunRequest(run=str(folder), text=("text.txt",), device="cpu", **options)
    job = RecipeJob.open(request, BEST, minutes)
    if not request.resume:
        job.begin()
    return job


def test_time_counts_over_all_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 60.0, 90.0, 500.0, 530.0, 800.0])
    monkeypatch.setattr("induce.recipes.recipe_job.time", SimpleNamespace(monotonic=lambda: next(clock)))
    job = new_job(tmp_path / "run")  # written after a minute
    assert job.minutes_left == 8.5
    resumed = new_job(tmp_path / "run", None, resume=True)
    assert resumed.minutes_left == 8.5
    assert new_job(tmp_path / "run", 3.0, resume=True).plan.seconds == 0


def test_deleted_run_gets_the_full_time_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = new_job(tmp_path / "run")
    job.plan.seconds = 300.0
    job.finish("first-1")
    monkeypatch.setattr("induce.recipes.recipe_job.resumable", lambda run: True)
    assert 300 < new_job(tmp_path / "run", None, resume=True).plan.seconds < 310
    monkeypatch.setattr("induce.recipes.recipe_job.resumable", lambda run: False)
    assert new_job(tmp_path / "run", None, resume=True).plan.seconds == 0


def test_files_of_the_user_in_an_overwritten_job_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    new_job(folder)
    files = [folder / "parts" / name for name in ("notes.txt", "mine/resume.safetensors", "first-1/notes.txt")]
    removed = [folder / "parts" / name for name in ("first-1/resume.safetensors", "vote/ensemble.json")]
    for path in (*files, *removed):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}", encoding="utf-8")
    new_job(folder, overwrite=True)
    assert [path for path in (*files, *removed) if path.exists()] == files
    assert not (folder / "parts" / "vote").exists()


@pytest.mark.parametrize("minutes", [1e7, inf])
def test_more_minutes_than_a_job_can_have_are_refused(tmp_path: Path, minutes: float) -> None:
    with pytest.raises(UsageError, match="minutes: a recipe takes less than 10,000,000; give fewer minutes"):
        new_job(tmp_path / "run", minutes)


def test_seed_whose_runs_would_have_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--seed 4294967295: a recipe takes seeds up to 42949662"):
        new_job(tmp_path / "run", seed=2**32 - 1)


def test_another_seed_gives_other_seeds_to_all_runs(tmp_path: Path) -> None:
    seeds = {}
    for seed in (None, 1, 2):
        job = new_job(tmp_path / str(seed), seed=seed)
        seeds[seed] = [job.request_of(run).seed for run in BEST.runs]
        resumed = new_job(tmp_path / str(seed), resume=True)
        assert [resumed.request_of(run).seed for run in BEST.runs] == seeds[seed]
    assert seeds[None] == seeds[1] == [run.number for run in BEST.runs]
    assert not set(seeds[1]) & set(seeds[2])
    with pytest.raises(SynparseError, match="--seed cannot change on --resume: the run keeps 2"):
        new_job(tmp_path / "2", seed=3, resume=True)


def test_runs_learn_from_their_teachers_and_their_share_of_the_text(tmp_path: Path) -> None:
    job = new_job(tmp_path / "run")
    job.plan.shares = (0.8, 0.8, 1.0, 1.0, 0.4)
    parts = tmp_path / "run" / "parts"
    requests = {run.name: job.request_of(run) for run in BEST.runs}
    assert requests["first-1"].teachers == (f"{parts}/segment-edges-1",)
    assert requests["first-3"].teachers == ()
    assert requests["second-2"].teachers == (f"{parts}/first-vote",)
    assert requests["third-1"].teachers == (f"{parts}/second-vote",)
    assert requests["segment-edges-1"].settings == ("data.text_share=0.8",)
    assert requests["student-1"].settings == ("data.text_share=0.4",)


def test_prior_is_the_weaker_the_more_teaching_lowers_perplexity() -> None:
    strengths = [prior_strength(100 * ratio, 100, 40_000) for ratio in (1.2, 1.0, 0.95, 0.9, 0.8)]
    assert strengths == [STRONGEST, STRONGEST, 0.88, 0.37, WEAKEST]
    assert [prior_strength(1, 1, words) for words in (0, 160_000, 10**9)] == [STRONGEST, 1.0, WEAKEST]


def test_strength_is_decided_once_from_runs_with_and_without_a_teacher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = new_job(tmp_path / "run")
    job.plan.words = 40_000
    histories = {
        name: tuple(Check(epoch, 1, development_perplexity=value) for epoch, value in enumerate(perplexities, 1))
        for name, perplexities in {
            "first-1": [200.0, 90.0, 70.0],  # the others had no time for a third epoch
            "first-2": [200.0, 90.0],
            "first-3": [300.0, 80.0],
            "first-4": [300.0, 125.0],
        }.items()
    }
    monkeypatch.setattr(job, "facts_of", lambda name: RunFacts(history=histories[name]))
    job.plan.done = ("segment-edges-1", "first-1", "first-2", "first-3")
    job.estimate_strength()
    assert (job.plan.strength, job.model_spec("first-1").priors) == (0.0, "")
    job.finish("first-4")
    job.estimate_strength()
    assert job.plan.log[-1] == (
        "perplexity of the development text 90.0 with teachers and 100.0 without: prior segment-edges:0.37"
    )
    resumed = new_job(tmp_path / "run", resume=True)
    resumed.estimate_strength()
    assert resumed.plan.strength == 0.37
    assert resumed.model_spec("second-1").priors == (
        "segment-edges:0.37+branching:0.1+punctuation:0.1+brackets:1+joining-marks:1"
    )
    assert resumed.model_spec("segment-edges-1").priors == resumed.model_spec("student-1").priors == ""
    second = next(run for run in BEST.runs if run.part.name == "second")
    untaught = replace(second, teachers=())
    assert resumed.new_request(untaught).teachers == ()
