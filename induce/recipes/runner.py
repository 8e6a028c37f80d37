"""Training of a recipe: all its parts within a given time, the vote of those that vote, and its students.

``RUN/parts`` holds the runs and, if there are students, the vote that taught them; ``RUN/plan.json`` holds the request
and the decisions. RUN itself holds the best model so far, or the ensemble of all that vote. Every part can be resumed,
so the job can be resumed at any moment.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from math import inf
from pathlib import Path

from induce.data.loaders import fit_passes, words_learned
from induce.models.base import check_fits
from induce.recipes.check import check_recipe
from induce.recipes.recipe import VOTE, PartRun, Recipe, read_recipe, recipe_for
from induce.recipes.recipe_job import BRANCHING, RecipeJob, Report, preset_digest
from induce.recipes.result import branching_notes, write_result, write_teachers
from induce.recipes.schedule import FIRST_PASSES, Schedule, makespan
from induce.settings.presets import resolve
from induce.settings.run import DataConfig, entry_of
from induce.storage.locate import PLAN
from induce.storage.outputs import RunLock, remove_leftovers
from induce.training.events import Event, Finished, PartProgress, Progress
from induce.training.parallel import Training, train_all
from induce.training.prepare import RunData, check_enough, load_data, load_run_data
from induce.training.request import RunRequest, Stop, resolved_config, unchangeable
from induce.workers.pool import worker_count
from treebank.base.arguments import ignore
from treebank.base.errors import SynparseError, UsageError
from treebank.base.tables import quantity

SAMPLE_RECIPE = "best-tiny"  # which learns the built-in sample in a minute
MIN_MINUTES = 0.01  # of a part, which stores its model in any case


def train_recipe(
    request: RunRequest,
    recipe: Recipe | str | None = None,
    *,
    max_minutes: float | None = None,
    stop: Stop = lambda: False,
    report: Report = ignore,
) -> Iterator[tuple[str, Event]]:
    """Train the parts of ``recipe``, within about ``max_minutes`` if they are given.

    Without ``recipe``, a resumed job follows the one that it began with, and a new job the recipe ``best``, or
    ``best-tiny`` for a small text and for the built-in sample. Without ``max_minutes``, a new job is planned for the
    minutes of the recipe at the speed that it expects, and trains what is planned, so that its result depends neither
    on the speed of the machine nor on its load; a resumed job has the rest of its time.
    Yields the name of a run and an event. After ``stop`` returns true, all models are stored, and a request with
    ``resume`` continues. Raises SynparseError if text or settings are invalid, and UsageError if the request names what
    the recipe decides.
    """
    with ExitStack() as stack:  # of the lock of the folder
        job = _open_job(request, recipe, max_minutes, stop, report, stack)
        yield from _train_job(job, stop)


def _train_job(job: RecipeJob, stop: Stop) -> Iterator[tuple[str, Event]]:
    """Train what a job has not trained yet, and write the result after each stage."""
    request = job.request
    schedule, plan = Schedule(job.plan.recipe, job.plan.minutes, worker_count(request.device)), job.plan
    job.note(f"{plan.minutes:g} minutes on {schedule.cores} cores: {schedule.stretch:.2f} times those of each part")
    progress, teaching_seconds = JobProgress(job), 0.0
    for number, stage in enumerate(plan.recipe.stages):
        remaining = [run for run in stage if run.name not in plan.done]
        yield "", progress.begin(stage)
        write_teachers(job, stage)
        if not any(job.run_folder(run.name).exists() for run in stage):
            _choose_share(number, job, schedule, teaching_seconds)
        began = time.monotonic()
        texts = _parsed_texts(remaining, job, stop)
        teaching_seconds += time.monotonic() - began
        if texts is None:
            return
        for name, event in _train(number, remaining, job, schedule, texts, stop):
            yield name, event
            if isinstance(event, Progress):
                yield "", progress.update(name, event)
        job.write()  # with the seconds of this stage
        if any(run.name in plan.done for run in stage):
            write_result(job, finished=False)
        if stop():
            return
        if number == 0 and (direction := job.facts_of(stage[0].name).direction) and not request.settings:
            for line in direction.lines():
                job.decide(line)
        job.estimate_strength()
    write_result(job, finished=True)
    for line in branching_notes(job):
        job.decide(line)


def _open_job(
    request: RunRequest,
    recipe: Recipe | str | None,
    max_minutes: float | None,
    stop: Stop,
    report: Report,
    stack: ExitStack,
) -> RecipeJob:
    """The job of a request: a new one that has begun, or a stored one whose text has not changed.

    Its folder is locked until ``stack`` is closed.
    """
    named = _named_recipe(request, recipe or (SAMPLE_RECIPE if request.sample else "best"))
    if request.resume and os.path.exists(os.path.join(request.run, PLAN)):
        stack.callback(RunLock(Path(request.run)).release)
        remove_leftovers(Path(request.run))
    job = RecipeJob.open(request, named, max_minutes, report)
    if not job.plan.words:
        where = recipe if isinstance(recipe, str) and recipe.endswith(".toml") else f"recipe {named.name!r}"
        _begin(job, where, max_minutes, stop, stack)
        return job
    if recipe and recipe_for(job.plan.words, named) != job.plan.recipe:
        raise unchangeable("--recipe or its style", job.plan.recipe.name)
    job.plan.check_texts(job.folder, _read_text(job, stop))
    if preset_digest(job.plan.recipe) != job.plan.presets_sha256:
        problem = "the presets of this job have changed"
        raise SynparseError(f"{job.folder}: {problem}; restore them, or begin again with --overwrite")
    if job.plan.limited and not max_minutes:
        report(f"{max(0.0, job.minutes_left):.1f} of {job.plan.minutes:g} minutes are left")
    return job


def _named_recipe(request: RunRequest, recipe: Recipe | str) -> Recipe:
    """The recipe called ``recipe``, such as ``best``, ``heads:content`` in a style, or the name of a file.

    Raises UsageError if the request names what a recipe decides.
    """
    if request.seed == 0:
        raise UsageError("--seed 0: with --recipe, seeds start at 1")
    other = [change for change in request.settings if not change.startswith(BRANCHING)]
    if other or any(getattr(request, name) for name in ("model", "preset", "trees", "teachers", "purpose")):
        raise UsageError("--recipe names models, settings and seeds itself")
    if isinstance(recipe, Recipe):
        return recipe
    return read_recipe(recipe) if recipe.endswith(".toml") else read_recipe(*recipe.split(":", 1))


def _begin(job: RecipeJob, where: str, max_minutes: float | None, stop: Stop, stack: ExitStack) -> None:
    """Check the recipe at ``where``, count the words of the text, choose the recipe for so many, and write the plan.

    The folder is locked when everything else is known to be correct.
    """
    plan = job.plan
    check_recipe(plan.recipe, job.request, where)
    data = _read_text(job, stop)
    plan.words = data.training.words
    chosen = recipe_for(plan.words, plan.recipe)
    if chosen is not plan.recipe:
        check_recipe(chosen, job.request, f"recipe {chosen.name!r}")
        plan.recipe, plan.minutes = chosen, max_minutes or chosen.minutes
        data = _read_text(job, stop)  # another part may read it in another way
    plan.text_sha256, plan.dev_sha256 = data.training.sha256, data.development.sha256
    plan.presets_sha256 = preset_digest(plan.recipe)
    stack.callback(RunLock(job.folder).release)
    job.begin()
    job.note(f"recipe {plan.recipe.name}")
    for line in data.notes:
        job.decide(line)
    cores = worker_count(job.request.device)
    expected = min(plan.minutes, max(1, round(plan.words / plan.recipe.costs.words_per_minute / cores)))
    limit = f", at most {_duration(plan.minutes)} (--max-minutes)" if plan.limited else ""
    job.decide(
        f"{plan.words:,} words: about {_duration(expected)} on {quantity(cores, 'core')}{limit}; "
        "Ctrl-C stops and keeps the best model so far"
    )


def _duration(minutes: float) -> str:
    """``minutes`` in words, in seconds if there is less than one."""
    if minutes < 1:
        return quantity(max(1, round(60 * minutes)), "second")
    number = f"{minutes:.4g}"
    return f"{number} minute" if number == "1" else f"{number} minutes"


def _read_text(job: RecipeJob, stop: Stop) -> RunData:
    """The text as read by the first part with ``max_passes``, or by the first part.

    Models that learn from teachers alone are left out, because there are no teachers yet.
    """
    runs = job.plan.recipe.stages[0] + job.plan.recipe.runs
    requests = [job.new_request(run) for run in runs if run.part.max_passes]
    learners = (request for request in requests if not entry_of(resolved_config(request)).needs_teacher)
    request = replace(next(learners, job.new_request(runs[0])), teachers=())
    config = resolved_config(request)
    request.check(config)
    check_fits(config)
    data = load_run_data(config, request, stop)
    check_enough(config, data.training, data.facts.texts)
    return data


def _choose_share(number: int, job: RecipeJob, schedule: Schedule, teaching_seconds: float) -> None:
    """Choose the share of the text that the runs of stage ``number`` learn from.

    Runs with and without teachers, whose perplexities are compared, have the same share. In a job with a time limit,
    the speed of parsing is that of the first grammars, or that of earlier teachers, who took ``teaching_seconds``, if
    these were slower.
    """
    plan, stage, earlier = job.plan, job.plan.recipe.stages[number], job.plan.shares[:number]
    speed = plan.words_per_second or plan.recipe.costs.words_per_second
    if VOTE in stage[0].teachers and teaching_seconds and plan.limited:
        parsed = plan.words * earlier[-1] * plan.recipe.costs.teaching
        speed = min(speed, parsed / teaching_seconds / schedule.cores)
    compared = earlier and any(run.part.with_teacher for run in stage)
    share = earlier[-1] if compared else schedule.share(number, plan.words, job.left_for(number), speed)
    plan.shares = (*earlier, share)
    if share < 1 and share not in earlier and not job.is_over:
        names = ", ".join(dict.fromkeys(run.part.name for run in stage))
        job.decide(f"{names}: {share:.0%} of the sentences; a larger --max-minutes allows more")


def _train(
    number: int, runs: Sequence[PartRun], job: RecipeJob, schedule: Schedule, texts: Mapping[str, RunData], stop: Stop
) -> Iterator[tuple[str, Event]]:
    """Train the ``runs`` of stage ``number``, one per core, and note those that end.

    If the time limit is reached and others can vote, they are left out.
    """
    plan, trainings, words = job.plan, list[Training](), dict[str, int]()
    if runs and not job.is_over:
        # the words to learn from depend on runs that are done and on time that is over only if the job has a limit
        parsing = 0.0 if plan.limited else schedule.parsing(number, plan.words * plan.shares[number])
        counted = runs if plan.limited else plan.recipe.stages[number]
        room = schedule.room(number, counted, job.left_for(number) - parsing, plan.words_per_second)
        for run in runs:
            training, words[run.name] = _training(run, job, schedule, room, texts.get(run.name))
            trainings.append(training)
        if len(plan.planned) <= number:
            minutes = (schedule.training(run, words[run.name]) for run in runs)
            plan.planned += (parsing + makespan(minutes, schedule.cores),)
            job.write()
    elif runs and not stop():
        names = ", ".join(run.name for run in runs)
        job.decide(f"warning: no time is left for {names}; continue with --resume --max-minutes M")
    cut: dict[str, int] = {}  # runs that the time ended before their passes -> the pass
    parts = {run.name: run.part for run in runs}
    for name, event in train_all(trainings, min(schedule.cores, len(trainings)), stop):
        if isinstance(event, Finished) and event.reason != "interrupted":
            if event.reason == "time" and parts[name].max_passes:
                cut[name] = event.epoch
            learns_text = words[name] and not parts[name].words
            if learns_text and plan.limited and not plan.words_per_second:  # if the time ended first, an upper bound
                plan.words_per_second = words[name] / event.seconds
            job.finish(name)
        yield name, event
    if cut:
        names = ", ".join(
            f"{name} in pass {epoch} of {job.config_of(name).train.epochs}" for name, epoch in cut.items()
        )
        is_last = number == len(job.plan.recipe.stages) - 1
        remedy = "continue with --resume --max-minutes M" if is_last else "begin with a larger --max-minutes for more"
        job.decide(f"warning: the time ended the training of {names}; {remedy}")


def _parsed_texts(runs: Sequence[PartRun], job: RecipeJob, stop: Stop) -> dict[str, RunData] | None:
    """The texts of the ``runs`` with teachers. Runs with the same teachers, words and sentences share one, parsed once.

    Incomplete if the time ended, and None if ``stop`` returned true.
    """
    shared: dict[tuple[tuple[str, ...], DataConfig, int], RunData] = {}
    texts: dict[str, RunData] = {}
    for run in runs:
        request = job.request_of(run)
        if not request.teachers or job.is_over:
            continue
        config = job.config_of(run.name) if request.resume else resolved_config(request)
        key = (tuple(request.teachers), config.data, getattr(config.loader, "longest", 0))
        if key not in shared:
            job.note(f"{run.name}: the text is parsed by {run.teacher}")
            try:
                shared[key] = load_data(request, stop=lambda: stop() or job.is_over)
            except KeyboardInterrupt:
                if stop():
                    return None
                if not job.is_over:
                    raise
                return texts
            shared[key].encode()
        texts[run.name] = shared[key]
    return texts


def _training(
    run: PartRun, job: RecipeJob, schedule: Schedule, room: float, data: RunData | None
) -> tuple[Training, int]:
    """The training of ``run`` for at most ``room`` times its minutes. ``data`` are its text if it has teachers.

    Without a time limit of the job, it has none, either, if it makes a number of passes or needs no gradients. Also
    returns the number of running words that it learns from, 0 if that is unknown.
    """
    request, part, words, used = job.request_of(run), run.part, 0, 0.0
    if request.resume:
        used = job.facts_of(run.name).seconds / 60
    elif part.max_passes:
        data = data or load_data(request)
        config = resolved_config(request)
        speed = job.plan.words_per_second or job.plan.recipe.costs.words_per_second
        learned = schedule.words(run, room, speed)
        if part.words:
            passes = min(part.max_passes, max(config.train.epochs, int(learned) // max(1, data.training.words)))
            words, settings = passes * data.training.words, [f"train.epochs={passes}"]
        else:
            lengths = data.encode().lengths
            enough = part.enough_words or inf
            passes, loader = fit_passes(
                config.loader, lengths, learned, part.max_passes, enough=enough, first_passes=FIRST_PASSES
            )
            words = words_learned(lengths, loader, passes)
            job.note(f"{run.name}: {words:,} words in {passes} passes")
            longest = f"loader.longer={loader.longer}" if loader.first_longest else "loader.first_longest=0"
            settings = [f"train.epochs={passes}", longest]
        request = replace(request, settings=(*request.settings, *settings))
    ends = part.max_passes or resolve(preset=run.preset, settings=part.settings).optimizer_name == "none"
    limit = None if ends and not job.plan.limited else max(MIN_MINUTES, schedule.limit(run, room, used))
    job.note(f"{run.name}: preset {run.preset}" + (f", up to {_duration(limit)}" if limit else ""))
    return Training(run.name, request, data, limit), words


class JobProgress:
    """Progress of a job: the minutes of a run are its share of the work."""

    def __init__(self, job: RecipeJob) -> None:
        self.job = job
        self.shares = {run.name: float(run.name in job.plan.done) for run in job.plan.recipe.runs}
        self.stage: list[PartRun] = []
        self._since, self._before = time.monotonic(), self._share()

    def begin(self, stage: list[PartRun]) -> PartProgress:
        """The event at the beginning of a stage. Earlier ones are over, also if a run ended early."""
        self.shares |= {run.name: 1.0 for run in self.stage}
        self.stage = stage
        return self._event()

    def update(self, name: str, event: Progress) -> PartProgress:
        """The event that follows from the progress of the run ``name``."""
        self.shares[name] = (event.epoch - 1 + event.share) / max(1, event.epochs)
        return self._event()

    def _share(self) -> float:
        runs = self.job.plan.recipe.runs
        return sum(run.part.minutes * self.shares[run.name] for run in runs) / sum(run.part.minutes for run in runs)

    def _event(self) -> PartProgress:
        job, share, minutes = self.job, self._share(), (time.monotonic() - self._since) / 60
        left = minutes * (1 - share) / (share - self._before) if share > self._before else job.minutes_left
        left = min(left, job.minutes_left) if job.plan.limited else max(0.0, left)
        parts = list(dict.fromkeys(run.part.name for stage in job.plan.recipe.stages for run in stage))
        active = [run.part for run in self.stage if self.shares[run.name] < 1] or [self.stage[-1].part]
        return PartProgress(parts.index(active[0].name) + 1, len(parts), active[0].does, share, minutes, left)
