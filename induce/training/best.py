"""The best trees that a text alone gives in the minutes there are: several models, focused grammars, and their vote.

What is trained, and for how long, comes from measurements (docs/ensembles.md). ``RUN/parts`` holds the runs,
``RUN/plan.json`` what was asked for and what is done, and RUN itself is the ensemble. Every part can be resumed, so the
whole can be at any moment.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from induce.data.edges import Edges, edges_of
from induce.data.fragments import words_learned
from induce.processes import can_copy, cores
from induce.storage.run_folder import check_kind, resumable
from induce.training.events import Event, Finished, Progress
from induce.training.parallel import ParallelTraining, Task
from induce.training.run import RunData, RunRequest, Stop, load_data, prepare_run, resolved_config
from treebank.errors import SynparseError
from treebank.json_text import parse_json
from treebank.whole_files import write_whole

if TYPE_CHECKING:
    import numpy as np

    from induce.config import TrainConfig

PLAN = "plan.json"
MINUTES = 180.0
TRAINING = 0.6  # of the minutes; the rest is for parsing the text for pupils, and the votes
LARGEST = 4.0  # times the minutes below: more did not help
PUPIL_WORDS = 1_600_000  # that a pupil of the vote learns from, so that small texts are gone through more often
MOST_PASSES = 30  # of these
GRAMMAR_WORDS = 2300.0  # a second that a grammar learns from on one core, for the minutes below
MOST_SERIES = 4
SHORTEST = 1.0  # times the minutes below for each of several series; one may have less
VOTERS = 3  # of each kind
MEASURING = 8.0  # seconds in which the program finds out how many there are here
SIDES = ("right", "left")
VOTES = ("model.prior_votes=0.1", "model.word_votes=0.5")  # see docs/models/npcfg.md
KEPT = ("text", "dev")  # of a request
SERIES = 100  # by which the seeds of parts differ from one --seed to the next
DECIDED = ("done", "log", "branching", "speed", "series", "ranks")  # of a plan
READING = ("tokenize", "paragraphs", "form", "encoding")
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Part:
    """One run of the whole: its preset, the minutes of one core that are enough for 400,000 words (of a grammar: with
    `GRAMMAR_WORDS` a second), its teachers."""

    name: str
    preset: str
    minutes: float
    seed: int = 1
    focus: tuple[str, ...] = ()  # NAME or NAME:DECODER of other parts, or GROUP/K: the K-th best of GROUP-1, GROUP-2, …
    votes: bool = True
    passes: int = 16  # of a grammar, at most
    end_votes: float = 2.0  # what teaches needs them to find verb phrases; what learns from it has learned these
    settings: tuple[str, ...] = ()

    @property
    def is_grammar(self) -> bool:
        """Whether its passes are counted, and not its minutes."""
        return "pcfg" in self.preset and not self.settings

    def waits_for(self, other: Part) -> bool:
        """Whether ``other`` is trained before it."""
        return any(_name(teacher) in (other.name, other.group) for teacher in self.focus)

    @property
    def group(self) -> str:
        """GROUP of GROUP-K."""
        return self.name.partition("-")[0]


VOTE = "vote"  # of the grammars, in RUN/parts
# of those of one series that grammars teach: every other has the same teacher
KINDS = ("npcfg", "npcfg", "simple-pcfg", "simple-pcfg", "npcfg", "simple-pcfg")


def series(count: int) -> tuple[Part, ...]:
    """The parts of ``count`` series: for each two ON-LSTMs, six grammars that ON-LSTMs teach, and six that the best of
    these teach.

    A grammar becomes better than its teacher, so pupils of pupils are better still, those of the best of several
    teachers above all. Teachers do not vote, as their pupils hold what they know.
    """
    onlstms, grammars = range(1, 2 * count + 1), range(1, len(KINDS) * count + 1)
    parts = [Part(f"onlstm-{k}", "onlstm-small", 10, seed=k, votes=False) for k in onlstms]
    for k in grammars:
        teacher = f"onlstm-{(k - 1) % len(onlstms) + 1}"
        focus = (f"{teacher}:biased", f"{teacher}:unbiased")
        parts.append(Part(f"first-{k}", "npcfg-small", 6, seed=k, passes=8, focus=focus, votes=False))
    for k in grammars:
        preset = f"{KINDS[(k - 1) % len(KINDS)]}-small"
        teacher = f"first/{(k - 1) // len(KINDS) * 2 + (k - 1) % 2 + 1}"
        parts.append(Part(f"second-{k}", preset, 6, seed=k, focus=(teacher,), end_votes=0))
    return tuple(parts)


#: fast models that learn the trees of the grammars' vote, and vote with these
PUPILS = tuple(Part(f"pupil-{k}", "chart-small", 3, seed=k, focus=(VOTE,)) for k in range(1, 5))


def is_best(run: str) -> bool:
    """Whether the folder ``run`` holds a plan to go on with."""
    return (Path(run) / PLAN).exists()


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
    plan = _Plan.open(folder, request, max_minutes, tell)
    request = plan.request
    count = cores() if request.device != "cuda" and can_copy() else 1
    if not plan.speed and any(part.is_grammar for part in parts or series(1)):
        plan.measure(count, stop, tell)
        if stop():
            return
    parts = parts or plan.choose_series(count, tell)
    scale = min(LARGEST, plan.share(parts, count))
    plan.say(f"{plan.minutes:g} minutes on {count} cores: {scale:.2f} times the minutes of each part", tell)
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


def _stages(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """The parts, those that teach others before these."""
    left, done = list(parts), set[str]()
    while left:
        ready = [part for part in left if all(one.name in done for one in parts if part.waits_for(one))]
        yield ready
        done |= {part.name for part in ready}
        left = [part for part in left if part not in ready]


def _name(teacher: str) -> str:
    """NAME of ``NAME:DECODER``, GROUP of ``GROUP/K``."""
    return teacher.partition(":")[0].partition("/")[0]


def _train(
    parts: Sequence[Part], plan: _Plan, scale: float, count: int, stop: Stop, tell: Tell
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


def _tasks(parts: Sequence[Part], plan: _Plan, scale: float, stop: Stop, tell: Tell) -> Iterator[Task]:
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
    from induce.checkpoint import find, read

    spent = float(read(find(run, ("last",))).facts.get("seconds", 0.0)) / 60
    return max(minutes - spent, 0.01)


def _voters(parts: Sequence[Part], plan: _Plan, tell: Tell) -> list[Part]:
    """The parts that vote: of each kind the likeliest."""
    voters = list[Part]()
    for preset in dict.fromkeys(part.preset for part in parts if part.votes):
        rivals = {part.name: part for part in parts if part.votes and part.preset == preset}
        if len(rivals) > VOTERS:
            plan.rank(preset, list(rivals), f"the {VOTERS} lowest vote", tell)
            rivals = {name: rivals[name] for name in plan.ranks[preset][:VOTERS]}
        voters += rivals.values()
    return voters


def _combine(voters: Sequence[Part], run: Path, plan: _Plan, tell: Tell) -> None:
    """The vote of these parts becomes ``run``."""
    from induce.parsing.combine import combine

    combine([str(plan.folder / "parts" / part.name) for part in voters], str(run), overwrite=True, tell=tell)
    plan.say(f"the vote of {len(voters)} members is the run {run}", tell)


@dataclass
class _Plan:
    """What was asked for, what is done, and what was decided: plan.json."""

    folder: Path
    request: RunRequest
    minutes: float
    done: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    branching: str = ""
    speed: float = 0.0  # words a second that a grammar learns from
    series: int = 0
    ranks: dict[str, list[str]] = field(default_factory=dict)  # the parts of a group, the best first

    @classmethod
    def open(cls, folder: Path, request: RunRequest, minutes: float | None, tell: Tell) -> _Plan:
        """The plan in ``folder`` if it goes on, else a new one. Raises SynparseError if there is one that must stay."""
        path = folder / PLAN
        if request.resume and path.exists():
            return cls._stored(path, request, minutes)
        if "-" in request.text:
            raise SynparseError("--best reads its text several times; give it as a file, not as standard input")
        check_kind(folder, "ensemble.json")
        if any((folder / name).exists() for name in ("parts", "ensemble.json", PLAN)):
            if not request.overwrite or not path.exists():
                raise SynparseError(f"{folder}: there is a model already; name another folder with -o, or --resume")
            rmtree(folder / "parts", ignore_errors=True)
            (folder / "ensemble.json").unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        plan = cls(folder, replace(request, resume=False), minutes or MINUTES)
        plan.write()
        return plan

    @classmethod
    def _stored(cls, path: Path, request: RunRequest, minutes: float | None) -> _Plan:
        try:
            found = parse_json(path.read_bytes())
            options = replace(request.input_options, **{key: found[key] for key in READING})
            kept: dict[str, Any] = {key: tuple(found[key]) for key in KEPT}
            seed = found.get("seed", 1)
            if request.seed not in (None, seed):
                raise SynparseError(f"{path}: began with --seed {seed}, which cannot change on --resume")
            asked = replace(request, input_options=options, seed=int(seed), **kept)
            decided = {key: found[key] for key in DECIDED}
            return cls(path.parent, asked, minutes or float(found["minutes"]), **decided)
        except (ValueError, KeyError, TypeError) as error:
            raise SynparseError(f"{path}: not the plan of a run ({error}); begin anew with --overwrite") from None

    def choose_branching(self, part: Part, tell: Tell) -> None:
        """Whether trees of the text branch to the right or to the left: what its edges say (`induce.data.edges`), as
        ``part`` found them."""
        from induce.parsing.load import read_trained

        if self.branching:
            return
        found = Edges.in_facts(read_trained(self.folder / "parts" / part.name).facts)
        edges = found or edges_of(load_data(self.request_of(part)).encode())
        self.branching = edges.side or "neither"
        shares = f"{edges.first:.0f}% begin, {edges.last:.0f}% end"
        self.say(f"branching: {self.branching} (sentences with a frequent word at an edge: {shares} with one)", tell)

    def measure(self, count: int, stop: Stop, tell: Tell) -> None:
        """How many words a second a grammar learns from, ``count`` of them side by side: measured, not assumed."""
        speeds = dict[str, float]()
        with TemporaryDirectory(prefix="synparse-") as place:
            asked = replace(self.request, preset="npcfg-small", settings=("train.first_longest=0",), focus=())
            data = load_data(asked)
            data.encode()
            runs = [replace(asked, run=str(Path(place) / str(number))) for number in range(count)]
            for name, event in _run([Task(run.run, run, data, MEASURING / 60) for run in runs], count, stop):
                if isinstance(event, Progress):
                    speeds[name] = event.words_per_second
        if not stop():
            self.speed = round(sum(speeds.values()) / len(speeds)) if speeds else GRAMMAR_WORDS
            self.say(f"a grammar learns from {self.speed:,.0f} words a second here", tell)

    def minutes_of(self, part: Part) -> float:
        """The minutes of one core that are enough for a part, on this machine."""
        return part.minutes * (GRAMMAR_WORDS / self.speed if part.is_grammar and self.speed else 1)

    def share(self, parts: Sequence[Part], count: int) -> float:
        """How many times the minutes of each part there are, on ``count`` cores."""
        return self.minutes * count * TRAINING / sum(map(self.minutes_of, parts))

    def choose_series(self, count: int, tell: Tell) -> tuple[Part, ...]:
        """The parts of as many series as there is time for: several shorter ones are better than one that is long."""
        if not self.series:
            self.series = max(1, min(MOST_SERIES, int(self.share(series(1), count) / SHORTEST)))
            self.say(f"{self.series} series of models", tell)
        return series(self.series)

    def rank(self, group: str, rivals: Sequence[str], chosen: str, tell: Tell) -> None:
        """Order the ``rivals`` of a group, if there are some, the best first: by perplexity of the development text.
        ``chosen`` says what for."""
        from induce.checkpoint import find, read

        if group in self.ranks or not rivals:
            return
        found = dict[str, float]()
        for name in rivals:
            history = read(find(self.folder / "parts" / name, ("last",))).facts.get("history") or ()
            found[name] = min((float(check["development_perplexity"]) for check in history), default=inf)
        self.ranks[group] = sorted(found, key=found.__getitem__)
        order = ", ".join(f"{name} {found[name]:.1f}" for name in self.ranks[group])
        self.say(f"perplexity of the development text: {order}; {chosen}", tell)

    def teachers(self, part: Part) -> tuple[str, ...]:
        """The names of those that teach ``part``, each with its decoder, where it has one."""
        return tuple(self._teacher(name) for name in part.focus)

    def _teacher(self, spelt: str) -> str:
        group, slash, place = spelt.partition("/")
        return self.ranks[group][int(place) - 1] if slash else spelt

    def seed_of(self, part: Part) -> int:
        """The seed of one part: its own in the first series, others in those that --seed asks for."""
        return part.seed + SERIES * ((1 if self.request.seed is None else self.request.seed) - 1)

    def request_of(self, part: Part) -> RunRequest:
        """What is asked for one part; one that has begun goes on."""
        run = self.folder / "parts" / part.name
        if resumable(run):
            return RunRequest(run=str(run), resume=True, device=self.request.device)
        focus = [name.partition(":") for name in self.teachers(part)]
        sided = part.focus and "pcfg" in part.preset and self.branching in SIDES
        votes = (f"model.branching={self.branching}", *VOTES, f"model.end_votes={part.end_votes:g}")
        settings = votes if sided else ()
        return replace(
            self.request,
            run=str(run),
            preset=part.preset,
            seed=self.seed_of(part),
            settings=(*settings, *part.settings),
            focus=tuple(f"{self.folder / 'parts' / name}{colon}{decoder}" for name, colon, decoder in focus),
            resume=False,
            overwrite=False,
        )

    def say(self, line: str, tell: Tell) -> None:
        """Tell a decision, and keep it."""
        tell(line)
        if line not in self.log:
            self.log.append(line)
        self.write()

    def finish(self, name: str) -> None:
        """This part is trained."""
        self.done.append(name)
        self.write()

    def write(self) -> None:
        """Writes plan.json, whole or not at all."""
        values: dict[str, Any] = {key: getattr(self, key) for key in ("minutes", *DECIDED)}
        values |= {"seed": 1 if self.request.seed is None else self.request.seed}
        values |= {key: list(getattr(self.request, key)) for key in KEPT}
        values |= {key: getattr(self.request.input_options, key) for key in READING}
        text = json.dumps(values, indent=1, ensure_ascii=False) + "\n"
        write_whole(self.folder / PLAN, text.encode("utf-8", "surrogatepass"))
