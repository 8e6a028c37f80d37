"""Training of a recipe: all its parts, within a given time, and the vote of those that vote.

``RUN/parts`` holds the runs and, if there are students, the vote that taught them; ``RUN/plan.json`` holds the request
and the decisions. RUN itself is an ensemble: of the result of the recipe alone, or of all that vote. Every part can be
resumed, so the job can be resumed at any moment.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from induce.analysis.agreement import agreement, has_brackets
from induce.data.fragments import words_learned
from induce.ensemble.combine import combine
from induce.parsing.load import load_parser
from induce.parsing.parser import with_rule
from induce.recipes.check import check_recipe
from induce.recipes.evidence import perplexity
from induce.recipes.recipe import VOTE, PartRun, Recipe, read_recipe, recipe_for
from induce.recipes.recipe_job import RecipeJob, Report
from induce.recipes.schedule import SLACK, Schedule, fit_passes
from induce.settings.run import entry_of
from induce.training.corpora import RunData, load_run_data
from induce.training.events import Event, Finished
from induce.training.parallel import Training, train_all
from induce.training.prepare import check_fits, load_data
from induce.training.request import RunRequest, Stop, read_text, resolved_config, unchangeable
from induce.workers.pool import worker_count
from treebank.base.arguments import ignore
from treebank.base.errors import UsageError
from treebank.base.terminal_text import quantity
from treebank.corpora.sample import sample_treebank

MIN_MINUTES = 0.01  # of a part, which stores its model in any case
COMPARED_SENTENCES = 200  # of the text, parsed at the end and compared with right and left branching
TRIVIAL_AGREEMENT = 90.0  # F1 with right or left branching from which a warning is printed


def train_recipe(
    request: RunRequest,
    recipe: Recipe | str | None = None,
    *,
    max_minutes: float | None = None,
    stop: Stop = lambda: False,
    report: Report = ignore,
) -> Iterator[tuple[str, Event]]:
    """Train the parts of ``recipe`` within about ``max_minutes``, by default those of the recipe.

    Without ``recipe``, a resumed job follows the one that it began with, and a new job the recipe ``best``. Without
    ``max_minutes``, a resumed job has the rest of its time.
    Yields the name of a run and an event. After ``stop`` returns true, all models are stored, and a request with
    ``resume`` continues. Raises SynparseError if text or settings are invalid, and UsageError if the request names what
    the recipe decides.
    """
    job = _open_job(request, recipe, max_minutes, stop, report)
    schedule, plan = Schedule(job.plan.recipe, job.plan.minutes, worker_count(request.device)), job.plan
    stretch = f"up to {schedule.stretch:.2f} times the minutes of each part"
    job.decide(f"{plan.minutes:g} minutes on {schedule.cores} cores: {stretch}")
    if not plan.text_share:
        plan.text_share, plan.vote_share = schedule.shares(plan.words)
        _report_shares(job)
    teaching_seconds = 0.0
    for number, stage in enumerate(plan.recipe.stages):
        if VOTE in stage[0].teachers:
            _combine(job.trained(voters=True), job.run_folder(VOTE), job)
            if not any(job.run_folder(run.name).exists() for run in stage):
                minutes, shares = schedule.parsing_minutes(job.minutes_left), (plan.text_share, plan.vote_share)
                plan.vote_share = schedule.vote_share(plan.words, shares, teaching_seconds, minutes)
                _report_shares(job)
        remaining = [run for run in stage if run.name not in plan.done]
        began = time.monotonic()
        texts = _parsed_texts(remaining, job, stop)
        teaching_seconds += time.monotonic() - began
        if texts is None:
            return
        yield from _train(number, remaining, job, schedule, texts, stop)
        job.write()  # with the seconds of this stage
        if stop():
            return
        if number == 0 and (direction := job.facts_of(stage[0].name).direction):
            for line in direction.lines():
                job.decide(line)
        job.estimate_strength()
    _combine(_result(job), job.folder, job)
    _compare_with_branching(job)


def _open_job(
    request: RunRequest, recipe: Recipe | str | None, max_minutes: float | None, stop: Stop, report: Report
) -> RecipeJob:
    """The job of a request: a new one that has begun, or a stored one whose text has not changed."""
    named = _named_recipe(request, recipe or "best")
    job = RecipeJob.open(request, named, max_minutes, report)
    if not job.plan.words:
        where = recipe if isinstance(recipe, str) and recipe.endswith(".toml") else f"recipe {named.name!r}"
        _begin(job, where, max_minutes, stop)
        return job
    if recipe and recipe_for(job.plan.words, named) != job.plan.recipe:
        raise unchangeable("--recipe or its style", job.plan.recipe.name)
    job.plan.check_texts(job.folder, _read_text(job, stop))
    if not max_minutes:
        report(f"{max(0.0, job.minutes_left):.1f} of {job.plan.minutes:g} minutes are left")
    return job


def _named_recipe(request: RunRequest, recipe: Recipe | str) -> Recipe:
    """The recipe called ``recipe``, such as ``best``, ``heads:content`` in a style, or the name of a file.

    Raises UsageError if the request names what a recipe decides.
    """
    if request.seed == 0:
        raise UsageError("--seed 0: with --recipe, seeds start at 1")
    if any(getattr(request, name) for name in ("model", "preset", "settings", "trees", "teachers", "task")):
        raise UsageError("--recipe names models, settings and seeds itself")
    if isinstance(recipe, Recipe):
        return recipe
    return read_recipe(recipe) if recipe.endswith(".toml") else read_recipe(*recipe.split(":", 1))


def _begin(job: RecipeJob, where: str, max_minutes: float | None, stop: Stop) -> None:
    """Check the recipe at ``where``, count the words of the text, choose the recipe for so many, and write the plan."""
    plan = job.plan
    check_recipe(plan.recipe, job.request, where)
    data = _read_text(job, stop)
    plan.words = data.training.words
    chosen = recipe_for(plan.words, plan.recipe)
    if chosen is not plan.recipe:
        check_recipe(chosen, job.request, f"recipe {chosen.name!r}")
        plan.recipe, plan.minutes = chosen, max_minutes or chosen.minutes
        job.report(f"{plan.words:,} words: recipe {plan.recipe.name}")
        data = _read_text(job, stop)  # another part may read it in another way
    plan.text_sha256, plan.dev_sha256 = data.training.sha256, data.development.sha256
    job.begin()


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
    return load_run_data(config, request, stop)


def _report_shares(job: RecipeJob) -> None:
    """Report which shares of the text are learned from, if there is not enough time for all of it."""
    plan = job.plan
    if plan.vote_share < 1:
        shares = f"{plan.text_share:.1%} of the sentences; students of the vote learn from {plan.vote_share:.1%}"
        job.decide(f"there is time to learn from {shares}")


def _train(
    number: int, runs: Sequence[PartRun], job: RecipeJob, schedule: Schedule, texts: Mapping[str, RunData], stop: Stop
) -> Iterator[tuple[str, Event]]:
    """Train the ``runs`` of stage ``number``, one per core, and note those that end.

    If no time is left and others can vote, they are left out.
    """
    trainings = list[Training]()
    if runs and not _is_over(job):
        room = schedule.room(number, runs, job.minutes_left)
        trainings = [_training(run, job, schedule.stretch, room, texts.get(run.name)) for run in runs]
    elif runs and not stop():
        names = ", ".join(run.name for run in runs)
        job.decide(f"warning: no time is left for {names}; to train them, use --resume and --max-minutes")
    for name, event in train_all(trainings, min(schedule.cores, len(trainings)), stop):
        if isinstance(event, Finished) and event.reason != "interrupted":
            job.finish(name)
        yield name, event


def _is_over(job: RecipeJob) -> bool:
    """Whether no time is left, and there is a result."""
    return job.minutes_left <= 0 and bool(job.trained(voters=True))


def _parsed_texts(runs: Sequence[PartRun], job: RecipeJob, stop: Stop) -> dict[str, RunData] | None:
    """The texts of the ``runs`` with teachers. Runs with the same teachers and words share one, parsed once.

    Incomplete if the time ended, and None if ``stop`` returned true.
    """
    shared: dict[tuple[tuple[str, ...], str], RunData] = {}
    texts: dict[str, RunData] = {}
    for run in runs:
        request = job.request_of(run)
        key = (tuple(request.teachers), "" if request.resume else repr(resolved_config(request).data))
        if not request.teachers or _is_over(job):
            continue
        if key not in shared:
            job.report(f"{run.name}: parsing the text for {', '.join(run.teachers)}")
            try:
                shared[key] = load_data(request, stop=lambda: stop() or _is_over(job))
            except KeyboardInterrupt:
                if stop():
                    return None
                if not _is_over(job):
                    raise
                return texts
            shared[key].encode()
        texts[run.name] = shared[key]
    return texts


def _training(run: PartRun, job: RecipeJob, stretch: float, room: float, data: RunData | None) -> Training:
    """The training of ``run`` for at most ``room`` times its minutes. ``data`` are its text if it has teachers."""
    request, part = job.request_of(run), run.part
    minutes, used = part.minutes * stretch, 0.0
    if request.resume:
        used = job.facts_of(run.name).seconds / 60
    elif part.max_passes:
        data = data or load_data(request)
        learned = 60 * part.minutes * stretch * min(1.0, room) * job.plan.recipe.costs.words_per_second
        request = replace(request, settings=(*request.settings, *_passes(run, request, data, learned, job)))
    slack = SLACK if part.max_passes and not part.words else 1.0
    limit = max(MIN_MINUTES, min(slack * minutes - used, room * minutes))
    duration = f"{limit:.1f} minutes" if limit >= 1 else quantity(round(60 * limit), "second")
    job.decide(f"{run.name}: preset {run.preset}, up to {duration}")
    return Training(run.name, request, data, limit)


def _passes(run: PartRun, request: RunRequest, data: RunData, learned: float, job: RecipeJob) -> list[str]:
    """Settings for as many passes as the words of the part, or the words ``learned`` in its time, allow."""
    part, config = run.part, resolved_config(request)
    if part.words:
        passes = min(part.max_passes, max(config.train.epochs, part.words // max(1, data.training.words)))
        return [f"train.epochs={passes}"]
    lengths = data.encode().lengths
    passes, loader = fit_passes(config.loader, lengths, learned, part.max_passes)
    job.decide(f"{run.name}: {words_learned(lengths, loader, passes):,} words in {passes} passes")
    limit = f"loader.longer={loader.longer}" if loader.first_longest else "loader.first_longest=0"
    return [f"train.epochs={passes}", limit]


def _result(job: RecipeJob) -> list[PartRun]:
    """The run of lowest perplexity in the part that the recipe names as the result, or all that vote.

    The latter are also the result if there was no time for that part.
    """
    plan, rivals = job.plan, [run for run in job.trained() if run.part.name == job.plan.recipe.result]
    if not rivals:
        return [run for run in job.trained() if run.part.votes]
    if not plan.best:
        scores = {run.name: perplexity(job.facts_of(run.name)) for run in rivals}
        ranking = sorted(scores, key=scores.__getitem__)
        plan.best = ranking[0]
        order = ", ".join(f"{name} {scores[name]:.1f}" for name in ranking)
        job.decide(f"perplexity of the development text: {order}; the lowest is the result")
    return [run for run in rivals if run.name == plan.best]


def _combine(voters: Sequence[PartRun], folder: Path, job: RecipeJob) -> None:
    """Make ``folder`` the ensemble of these runs, each with the weight of its part and the estimated prior."""
    members = [replace(job.model_spec(run.name), weight=run.part.weight).name for run in voters]
    combine(members, str(folder), overwrite=True, report=job.report)
    content = f"the vote of {len(voters)} members" if len(voters) > 1 else voters[0].name
    job.decide(f"{content} is the run {folder}")


def _compare_with_branching(job: RecipeJob) -> None:
    """Report the agreement of the result with right and left branching, and warn if it hardly differs from one."""
    request = job.request
    parser = load_parser(job.folder, device=request.device)
    if parser.output != "trees":
        return
    text = request.text or [sentence.words for sentence in sample_treebank("train").sentences]
    whole = read_text(text, with_rule(request.input_options, parser.tokenization))
    sentences = list(islice(filter(has_brackets, whole), COMPARED_SENTENCES))
    if not sentences:
        return
    load_model = partial(load_parser, device=request.device)
    compared = agreement([str(job.folder)], lambda rule: sentences, load=load_model, baselines=("right", "left"))
    right, left = (pair.value for pair in compared.pairs[:2])
    job.decide(
        f"F1 of the trees of {compared.sentences} sentences with right branching {right:.1f}, with left branching "
        f"{left:.1f}"
    )
    if max(right, left) >= TRIVIAL_AGREEMENT:
        job.decide(
            f"warning: the trees hardly differ from {'right' if right > left else 'left'} branching, so the models "
            "learned little else; give more text or a larger --max-minutes"
        )
