"""Training of a recipe: all its parts, within a given time, and the vote of those that vote.

``RUN/parts`` holds the runs and, if there are students, the vote that taught them; ``RUN/plan.json`` holds the request
and the decisions. RUN itself is an ensemble: of the result of the recipe alone, or of all that vote. Every part can be
resumed, so the job can be resumed at any moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from induce.recipes.schedule import packed_minutes
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
from treebank.corpora.sample import sample_treebank

if TYPE_CHECKING:
    import numpy as np

    from induce.data.fragments import SpanSettings

SLACK = 2.0  # factor on the minutes of a part that ends after its passes, in case other programs slow it down
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

    Without ``recipe``, a resumed job follows the one that it began with, and a new job the recipe ``best``.
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
    else:
        where = recipe if isinstance(recipe, str) and recipe.endswith(".toml") else f"recipe {named.name!r}"
        _begin(plan, where, max_minutes, stop)
    recipe = plan.recipe
    members, students = plan.choose_series(count), recipe.student_members()
    stretch = min(recipe.max_stretch, plan.stretch(members, count))
    plan.decide(f"{plan.minutes:g} minutes on {count} cores: {stretch:.2f} times the minutes of each part")
    if not plan.text_share:
        stages = [stage for stage in (*recipe.stages(members), students) if stage]
        plan.choose_shares(stretch * sum(packed_minutes(stage, count) for stage in stages), count)
    for stage in recipe.stages(members):
        plan.estimate_strength(members)
        yield from _train(stage, plan, stretch, count, stop)
        if stop():
            return
        if stage[0] == members[0]:
            plan.report_branching(members[0])
    plan.estimate_strength(members)
    voters = [member.name for member in members if member.part.votes]
    if students:
        _combine(voters, plan.run_of(VOTE), plan)
        yield from _train(students, plan, stretch, count, stop)
        if stop():
            return
    _combine(_result(plan, [*members, *students]), plan.folder, plan)
    _compare_with_branching(plan)


def _result(plan: Plan, members: Sequence[Member]) -> list[str]:
    """Names of the members that are the result: all that vote, or the best one of the part that the recipe names."""
    part = plan.recipe.result
    if part == VOTE:
        return [member.name for member in members if member.part.votes]
    return [plan.best_of([member.name for member in members if member.part.name == part])]


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


def _train(
    members: Sequence[Member], plan: Plan, stretch: float, count: int, stop: Stop
) -> Iterator[tuple[str, Event]]:
    """Train the members of one stage that are not done, ``count`` at a time, and note those that end."""
    remaining = [member for member in members if member.name not in plan.done]
    try:
        tasks = list(_tasks(remaining, plan, stretch, stop))
    except KeyboardInterrupt:
        if stop():
            return
        raise
    for name, event in train_tasks(tasks, min(count, len(tasks)), stop):
        if isinstance(event, Finished) and event.reason != "interrupted":
            plan.finish(name)
        yield name, event


def _tasks(members: Sequence[Member], plan: Plan, stretch: float, stop: Stop) -> Iterator[Task]:
    """The trainings of one stage. Those with the same teachers and words share one text, which is parsed once.

    Raises KeyboardInterrupt after ``stop`` returned true.
    """
    shared: dict[tuple[tuple[str, ...], str], RunData] = {}
    for member in members:
        request, minutes = plan.request_of(member), member.part.minutes * stretch
        teachers = tuple(request.teachers)
        key = (teachers, "" if request.resume else repr(resolved_config(request).data))
        if teachers and key not in shared:
            plan.report(f"{member.name}: parsing the text for {', '.join(plan.teachers_of(member))}")
            shared[key] = load_data(request, stop=stop)
            shared[key].encode()
        data = shared.get(key)
        if request.resume:
            minutes = max(minutes - plan.facts_of(member.name).seconds / 60, 0.01)
        elif member.part.max_passes:
            data = data or load_data(request)
            request = _with_passes(request, member, data, plan, stretch)
            minutes *= 1 if member.part.words else SLACK
        plan.decide(f"{member.name}: preset {member.preset}, up to {minutes:.1f} minutes")
        yield Task(member.name, request, data, minutes)


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
