"""The best trees that a text alone gives in the minutes there are: several models, focused grammars, and their vote.

What is trained, and for how long, comes from measurements (docs/ensembles.md). ``RUN/parts`` holds the runs,
``RUN/plan.json`` what was asked for and what is done, and RUN itself is the ensemble. Every part can be resumed, so the
whole can be at any moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from induce.data.fragments import words_learned
from induce.recipes.best_plan import GRAMMAR_WORDS, PUPILS, VOTE, Part, Plan, Tell, series
from induce.training.events import Event, Finished, Progress
from induce.training.parallel import ParallelTraining, Task
from induce.training.request import RunRequest, Stop, resolved_config
from induce.training.run import load_data, prepare_run
from induce.training.run_data import RunData
from induce.workers.pool import can_copy, cores

if TYPE_CHECKING:
    import numpy as np

    from induce.config import TrainConfig

LARGEST = 4.0  # times the minutes of the parts: more did not help
PUPIL_WORDS = 1_600_000  # that a pupil of the vote learns from, so that small texts are gone through more often
MOST_PASSES = 30  # of these
VOTERS = 3  # of each kind
MEASURING = 8.0  # seconds in which the program finds out how many there are here


def train_best(
    request: RunRequest,
    *,
    max_minutes: float | None = None,
    parts: Sequence[Part] = (),
    pupils: Sequence[Part] = PUPILS,
    stop: Stop = lambda: False,
    tell: Tell = lambda line: None,
) -> Iterator[tuple[str, Event]]:
    """Train all ``parts`` (as many `series` as there is time for) within about ``max_minutes`` (180, or what the plan
    says on resume) and let them vote; ``pupils`` learn the trees of the vote and join it.

    Yields the name of a part and what happens to it. After ``stop`` what there is is kept, and a request with
    ``resume`` goes on. Raises SynparseError for what cannot be read or trained.
    """
    folder = Path(request.run)
    plan = Plan.open(folder, request, max_minutes, tell)
    request = plan.request
    count = cores() if request.device != "cuda" and can_copy() else 1
    if not plan.speed and any(part.is_grammar for part in parts or series(1)):
        _measure(plan, count, stop, tell)
        if stop():
            return
    parts = parts or plan.choose_series(count, tell)
    scale = min(LARGEST, plan.share(parts, count))
    plan.say(f"{plan.minutes:g} minutes on {count} cores: {scale:.2f} times the minutes of each part", tell)
    if not plan.text_share:
        plan.choose_shares(sum(pupil.minutes for pupil in pupils) * scale, count, tell)
    for stage in _stages(parts):
        left = [part for part in stage if part.name not in plan.done]
        if left and left[0].focus:
            plan.choose_branching(parts[0], tell)
        yield from _train(left, plan, scale, count, stop, tell)
        if stop():
            return
        for group in {teacher.partition("/")[0] for part in parts for teacher in part.focus if "/" in teacher}:
            plan.rank(group, [part.name for part in stage if part.group == group], "the lowest teach", tell)
    voters = _voters(parts, plan, tell)
    _combine(voters, folder / "parts" / VOTE, plan, tell)
    left = [pupil for pupil in pupils if pupil.name not in plan.done]
    yield from _train(left, plan, scale, count, stop, tell)
    if stop():
        return
    names = ", ".join(pupil.name for pupil in pupils)
    plan.say(f"{names} in {folder / 'parts'} learned the trees of the vote; each by itself parses faster", tell)
    _combine([*voters, *pupils], folder, plan, tell)


def _measure(plan: Plan, count: int, stop: Stop, tell: Tell) -> None:
    """How many words a second a grammar learns from, ``count`` of them side by side: measured, not assumed."""
    speeds = dict[str, float]()
    with TemporaryDirectory(prefix="synparse-") as place:
        asked = replace(plan.request, preset="npcfg-small", settings=("train.first_longest=0",), teachers=())
        data = load_data(asked)
        data.encode()
        plan.words = data.training.words
        runs = [replace(asked, run=str(Path(place) / str(number))) for number in range(count)]
        for name, event in _run([Task(run.run, run, data, MEASURING / 60) for run in runs], count, stop):
            if isinstance(event, Progress):
                speeds[name] = event.words_per_second
    if not stop():
        plan.speed = round(sum(speeds.values()) / len(speeds)) if speeds else GRAMMAR_WORDS
        plan.say(f"a grammar learns from {plan.speed:,.0f} words a second here", tell)


def _stages(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """The parts, those that teach others before these."""
    left, done = list(parts), set[str]()
    while left:
        ready = [part for part in left if all(one.name in done for one in parts if part.waits_for(one))]
        yield ready
        done |= {part.name for part in ready}
        left = [part for part in left if part not in ready]


def _train(
    parts: Sequence[Part], plan: Plan, scale: float, count: int, stop: Stop, tell: Tell
) -> Iterator[tuple[str, Event]]:
    """What happens to parts of one stage, ``count`` at a time; those that end are noted as done."""
    try:
        tasks = list(_tasks(parts, plan, scale, stop, tell))
    except KeyboardInterrupt:
        if stop():
            return
        raise
    for name, event in _run(tasks, min(count, len(tasks)), stop):
        if isinstance(event, Finished) and event.reason != "interrupted":
            plan.finish(name)
        yield name, event


def _run(tasks: Sequence[Task], count: int, stop: Stop) -> Iterator[tuple[str, Event]]:
    """What happens to the tasks, several at a time or one after another."""
    if count > 1:
        yield from ParallelTraining(1, stop).train(tasks, count)
        return
    for task in tasks:
        for event in prepare_run(task.request, data=task.data).train(max_minutes=task.max_minutes, stop=stop):
            yield task.name, event
        if stop():
            return


def _tasks(parts: Sequence[Part], plan: Plan, scale: float, stop: Stop, tell: Tell) -> Iterator[Task]:
    """The trainings of one stage; those with the same teachers, and the same words, share one text, parsed once.
    Raises KeyboardInterrupt after ``stop``."""
    shared: dict[tuple[tuple[str, ...], str], RunData] = {}
    for part in parts:
        minutes = plan.minutes_of(part) * scale
        asked = plan.request_of(part)
        teachers = plan.teachers(part)
        key = (teachers, part.preset if asked.resume else repr(resolved_config(asked).data))
        if teachers and key not in shared:
            tell(f"{part.name}: parsing the text for {', '.join(teachers)}")
            shared[key] = load_data(asked, stop=stop)
            shared[key].encode()
        data = shared.get(key)
        if not asked.resume and part.is_grammar:
            data = data or load_data(asked)
            lengths = data.encode().lengths
            enough = 60 * part.minutes * scale * GRAMMAR_WORDS
            schedule = _schedule(resolved_config(asked).train, lengths, enough, part.passes)
            passes, words = schedule.epochs, words_learned(lengths, schedule)
            plan.say(f"{part.name}: {words:,} words in {passes} passes", tell)
            changes = (f"train.epochs={passes}", f"train.longer={schedule.longer}")
            asked = replace(asked, settings=(*asked.settings, *changes))
            minutes *= 2  # its schedule ends it; this is for a machine that other programs make slower meanwhile
        elif not asked.resume and VOTE in part.focus and not part.settings:
            passes = min(MOST_PASSES, PUPIL_WORDS // max(1, shared[key].training.words))
            passes = max(resolved_config(asked).train.epochs, passes)
            asked = replace(asked, settings=(*asked.settings, f"train.epochs={passes}"))
        plan.say(f"{part.name}: preset {part.preset}, seed {plan.seed_of(part)}, up to {minutes:.1f} minutes", tell)
        yield Task(part.name, asked, data, _left(Path(asked.run), minutes) if asked.resume else minutes)


def _schedule(train: TrainConfig, lengths: np.ndarray, words: float, most: int) -> TrainConfig:
    """As many passes over sentences of these lengths as ``words`` are enough for, ``most`` at most; the longest
    sentences come in the last at the latest."""
    for passes in range(most, 1, -1):
        rise = -(-max(0, train.longest - train.first_longest) // (passes - 1))
        train = replace(train, epochs=passes, longer=max(train.longer, rise))
        if words_learned(lengths, train) <= words:
            break
    return train


def _left(run: Path, minutes: float) -> float:
    """The minutes that are left to a run that has begun."""
    from induce.storage.checkpoint import find, read

    spent = float(read(find(run, ("last",))).facts.get("seconds", 0.0)) / 60
    return max(minutes - spent, 0.01)


def _voters(parts: Sequence[Part], plan: Plan, tell: Tell) -> list[Part]:
    """The parts that vote: of each kind the likeliest."""
    voters = list[Part]()
    for preset in dict.fromkeys(part.preset for part in parts if part.votes):
        rivals = {part.name: part for part in parts if part.votes and part.preset == preset}
        if len(rivals) > VOTERS:
            plan.rank(preset, list(rivals), f"the {VOTERS} lowest vote", tell)
            rivals = {name: rivals[name] for name in plan.ranks[preset][:VOTERS]}
        voters += rivals.values()
    return voters


def _combine(voters: Sequence[Part], run: Path, plan: Plan, tell: Tell) -> None:
    """The vote of these parts becomes ``run``."""
    from induce.parsing.combine import combine

    combine([str(plan.folder / "parts" / part.name) for part in voters], str(run), overwrite=True, tell=tell)
    plan.say(f"the vote of {len(voters)} members is the run {run}", tell)
