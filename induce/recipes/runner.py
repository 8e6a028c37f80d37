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
from typing import TYPE_CHECKING

from induce.analysis.agreement import agreement, has_brackets
from induce.data.fragments import words_learned
from induce.parsing.load import load_parser
from induce.parsing.parser import with_rule
from induce.recipes.check import check_recipe
from induce.recipes.plan import Plan, Report
from induce.recipes.recipe import VOTE, Member, Recipe, read_recipe
from induce.recipes.schedule import SLACK, Schedule, packed_minutes
from induce.settings.run import entry_of
from induce.training.events import Event, Finished
from induce.training.parallel import Task, train_tasks
from induce.training.request import RunRequest, Stop, resolved_config, unchangeable
from induce.training.run import check_fits, load_data
from induce.training.run_data import RunData, load_run_data
from induce.training.sources import read_text
from induce.workers.pool import worker_count
from treebank.base.callbacks import ignore
from treebank.base.errors import SynparseError
from treebank.base.quantities import quantity
from treebank.corpora.sample import sample_treebank

if TYPE_CHECKING:
    import numpy as np

    from induce.data.fragments import SpanSettings

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
    ``resume`` continues. Raises SynparseError if text or settings are invalid.
    """
    named = recipe if isinstance(recipe, Recipe) else read_recipe(recipe or "best")
    plan = Plan.open(request, named, max_minutes, report)
    if recipe and plan.words and _recipe_for(plan.words, named) != plan.recipe:
        raise unchangeable("--recipe or its style", plan.recipe.name)
    request = plan.user_request
    count = worker_count(request.device)
    if plan.words:
        plan.check_texts(plan.folder, _read_text(plan, stop))
        if not max_minutes:
            plan.report(f"{max(0.0, plan.minutes_left):.1f} of {plan.minutes:g} minutes are left")
    else:
        where = recipe if isinstance(recipe, str) and recipe.endswith(".toml") else f"recipe {named.name!r}"
        _begin(plan, where, max_minutes, stop)
    members, students = plan.choose_series(count), plan.recipe.student_members()
    schedule = _schedule(members, plan, count)
    for number, stage in enumerate(schedule.stages):
        plan.estimate_strength(members)
        if stage == students:
            _combine(plan.voters(), plan.run_of(VOTE), plan)
            plan.fit_vote_share(schedule.parsing_minutes(plan.minutes_left), count)
        yield from _train(number, schedule, plan, stop)
        plan.write()  # with the seconds of this stage
        if stop():
            return
        if number == 0:
            plan.report_branching(members[0])
    plan.estimate_strength(members)
    _combine(_result(plan, [*members, *students]), plan.folder, plan)
    _compare_with_branching(plan)


def _schedule(members: Sequence[Member], plan: Plan, count: int) -> Schedule:
    """The stages of ``members`` and of the students of their vote on ``count`` cores, and the shares of the text."""
    recipe = plan.recipe
    stretch = min(recipe.max_stretch, plan.stretch(members, count))
    stages = [stage for stage in (*recipe.stages(members), recipe.student_members()) if stage]
    plan.decide(f"{plan.minutes:g} minutes on {count} cores: up to {stretch:.2f} times the minutes of each part")
    if not plan.text_share:
        plan.choose_shares(stretch * sum(packed_minutes(stage, count) for stage in stages), count)
    return Schedule(stages, stretch, count)


def _result(plan: Plan, members: Sequence[Member]) -> list[str]:
    """Names of the members that are the result: the best one of the part that the recipe names, or all that vote.

    The latter are also the result if there was no time for that part.
    """
    trained = [member for member in members if member.name in plan.done]
    rivals = [member.name for member in trained if member.part.name == plan.recipe.result]
    return [plan.best_of(rivals)] if rivals else [member.name for member in trained if member.part.votes]


def _begin(plan: Plan, where: str, max_minutes: float | None, stop: Stop) -> None:
    """Check the recipe at ``where``, count the words of the text, choose the recipe for so many, and write the plan."""
    check_recipe(plan.recipe, plan.user_request, where)
    data = _read_text(plan, stop)
    plan.words = data.training.words
    chosen = _recipe_for(plan.words, plan.recipe)
    if chosen is not plan.recipe:
        check_recipe(chosen, plan.user_request, f"recipe {chosen.name!r}")
        plan.recipe, plan.minutes = chosen, max_minutes or chosen.minutes
        plan.report(f"{plan.words:,} words: recipe {plan.recipe.name}")
        data = _read_text(plan, stop)  # another part may read it in another way
    plan.text_sha256, plan.dev_sha256 = data.training.sha256, data.development.sha256
    plan.begin()


def _compare_with_branching(plan: Plan) -> None:
    """Report the agreement of the result with right and left branching, and warn if it hardly differs from one."""
    request = plan.user_request
    parser = load_parser(plan.folder, device=request.device)
    if parser.output != "trees":
        return
    text = request.text or [sentence.words for sentence in sample_treebank("train").sentences]
    whole = read_text(text, with_rule(request.input_options, parser.tokenization))
    long_enough = (sentence for sentence in whole if has_brackets(sentence))
    sentences = list(islice(long_enough, COMPARED_SENTENCES))
    if not sentences:
        return
    load_model = partial(load_parser, device=request.device)
    compared = agreement([str(plan.folder)], lambda rule: sentences, load=load_model, baselines=("right", "left"))
    right, left = (pair.value for pair in compared.pairs[:2])
    plan.decide(
        f"F1 of the trees of {compared.sentences} sentences with right branching {right:.1f}, with left branching "
        f"{left:.1f}"
    )
    if max(right, left) >= TRIVIAL_AGREEMENT:
        plan.decide(
            f"warning: the trees hardly differ from {'right' if right > left else 'left'} branching, so the models "
            "learned little else; give more text or a larger --max-minutes"
        )


def _recipe_for(words: int, recipe: Recipe) -> Recipe:
    """``recipe``, or the one that it, or a recipe that it names, has for texts of ``words`` words.

    Raises SynparseError if the limits of these recipes do not decrease, because they could name each other forever.
    """
    while words < recipe.small_text_words:
        smaller = read_recipe(recipe.small_text_recipe)
        if smaller.small_text_words >= recipe.small_text_words:
            raise SynparseError(
                f"recipe {smaller.name!r}: small_text_words must be less than {recipe.small_text_words:,}, "
                f"the limit of recipe {recipe.name!r}, which names it for small texts"
            )
        recipe = smaller
    return recipe


def _read_text(plan: Plan, stop: Stop) -> RunData:
    """The text as read by the first part with ``max_passes``, or by the first part.

    Models that learn from teachers alone are left out, because there are no teachers yet.
    """
    members = plan.recipe.series(1)
    requests = [plan.new_request(member) for member in members if member.part.max_passes]
    learners = (request for request in requests if not entry_of(resolved_config(request)).needs_teacher)
    request = replace(next(learners, plan.new_request(members[0])), teachers=())
    config = resolved_config(request)
    request.check(config)
    check_fits(config)
    return load_run_data(config, request, request.device, stop)


def _train(number: int, schedule: Schedule, plan: Plan, stop: Stop) -> Iterator[tuple[str, Event]]:
    """Train the members of stage ``number`` that are not done, one per core, and note those that end.

    If no time is left and others can vote, they are left out.
    """
    remaining = [member for member in schedule.stages[number] if member.name not in plan.done]
    has_voters, tasks = bool(plan.voters()), list[Task]()

    def is_over() -> bool:
        return has_voters and plan.minutes_left <= 0

    try:
        texts = {} if is_over() else _parsed_texts(remaining, plan, lambda: stop() or is_over())
        if remaining and not is_over():
            room = schedule.room(number, remaining, plan.minutes_left)
            tasks = list(_tasks(remaining, plan, schedule.stretch, room, texts))
    except KeyboardInterrupt:
        if stop():
            return
        if not is_over():
            raise
    if remaining and not tasks:
        names = ", ".join(member.name for member in remaining)
        plan.decide(f"warning: no time is left for {names}; to train them, use --resume and --max-minutes")
    for name, event in train_tasks(tasks, min(schedule.cores, len(tasks)), stop):
        if isinstance(event, Finished) and event.reason != "interrupted":
            plan.finish(name)
        yield name, event


def _parsed_texts(members: Sequence[Member], plan: Plan, stop: Stop) -> dict[str, RunData]:
    """The texts of the ``members`` with teachers. Members with the same teachers and words share one, parsed once.

    Raises KeyboardInterrupt after ``stop`` returned true.
    """
    shared: dict[tuple[tuple[str, ...], str], RunData] = {}
    texts: dict[str, RunData] = {}
    for member in members:
        request = plan.request_of(member)
        teachers = tuple(request.teachers)
        key = (teachers, "" if request.resume else repr(resolved_config(request).data))
        if teachers and key not in shared:
            plan.report(f"{member.name}: parsing the text for {', '.join(plan.teachers_of(member))}")
            began = time.monotonic()
            shared[key] = load_data(request, stop=stop)
            shared[key].encode()
            plan.teaching_seconds += time.monotonic() - began
        if teachers:
            texts[member.name] = shared[key]
    return texts


def _tasks(
    members: Sequence[Member], plan: Plan, stretch: float, room: float, texts: Mapping[str, RunData]
) -> Iterator[Task]:
    """The trainings of one stage, each for at most ``room`` times its minutes. ``texts`` are those with teachers."""
    for member in members:
        request, data, part = plan.request_of(member), texts.get(member.name), member.part
        minutes, used = part.minutes * stretch, 0.0
        if request.resume:
            used = plan.facts_of(member.name).seconds / 60
        elif part.max_passes:
            data = data or load_data(request)
            request = _with_passes(request, member, data, plan, stretch * min(1.0, room))
        slack = SLACK if part.max_passes and not part.words else 1.0
        limit = max(MIN_MINUTES, min(slack * minutes - used, room * minutes))
        plan.decide(f"{member.name}: preset {member.preset}, up to {_in_words(limit)}")
        yield Task(member.name, request, data, limit)


def _in_words(minutes: float) -> str:
    """A duration with its unit."""
    return f"{minutes:.1f} minutes" if minutes >= 1 else quantity(round(60 * minutes), "second")


def _with_passes(request: RunRequest, member: Member, data: RunData, plan: Plan, stretch: float) -> RunRequest:
    """``request`` with as many passes over the text as the words or the minutes of the part allow."""
    part, config = member.part, resolved_config(request)
    if part.words:
        passes = min(part.max_passes, max(config.train.epochs, part.words // max(1, data.training.words)))
        return replace(request, settings=(*request.settings, f"train.epochs={passes}"))
    lengths = data.encode().lengths
    affordable = 60 * part.minutes * stretch * plan.recipe.words_per_second
    passes, loader = fit_schedule(config.loader, lengths, affordable, part.max_passes)
    words = words_learned(lengths, loader, passes)
    plan.decide(f"{member.name}: {words:,} words in {passes} passes")
    limit = f"loader.longer={loader.longer}" if loader.first_longest else "loader.first_longest=0"
    changes = (f"train.epochs={passes}", limit)
    return replace(request, settings=(*request.settings, *changes))


def fit_schedule(loader: SpanSettings, lengths: np.ndarray, words: float, max_passes: int) -> tuple[int, SpanSettings]:
    """Number of passes over sentences of these ``lengths`` that learn from at most ``words`` words, and the settings.

    The longest sentences are learned from in the last pass at the latest.
    """
    if max_passes == 1:
        return 1, replace(loader, first_longest=0)
    for passes in range(max_passes, 1, -1):
        rise = -(-max(0, loader.longest - loader.first_longest) // (passes - 1))
        loader = replace(loader, longer=max(loader.longer, rise))
        if words_learned(lengths, loader, passes) <= words:
            break
    return passes, loader


def _combine(voters: Sequence[str], run: Path, plan: Plan) -> None:
    """Make ``run`` the ensemble of these runs, each with the weight of its part and the estimated prior."""
    from induce.parsing.combine import combine

    weights = {part.name: part.weight for part in plan.recipe.parts}
    members = [replace(plan.model_of(name), weight=weights[name.rpartition("-")[0]]).name for name in voters]
    combine(members, str(run), overwrite=True, tell=plan.report)
    content = f"the vote of {len(voters)} members" if len(voters) > 1 else voters[0]
    plan.decide(f"{content} is the run {run}")
