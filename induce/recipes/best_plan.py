"""What `induce.recipes.best` trains, and in which order; what was decided and is done: ``plan.json``."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from shutil import rmtree
from typing import Any

from induce.decoding.branching_direction import Edges
from induce.storage.locate import PathType
from induce.storage.run_folder import check_type, resumable
from induce.training.request import RunRequest
from treebank.base.atomic_write import write_whole
from treebank.base.errors import SynparseError
from treebank.base.json_text import parse_json

PLAN = "plan.json"
MINUTES = 180.0
TRAINING = 0.6  # of the minutes; the rest is for parsing the text for pupils, and the votes
GRAMMAR_WORDS = 2300.0  # a second that a grammar learns from on one core, for the minutes below
MOST_SERIES = 4
SHORTEST = 1.0  # times the minutes below for each of several series; one may have less
TEACHING = 7.0  # times as long as to learn from a word takes it to parse it by the teachers of one series (CRAFT)
VOTING = 15.0  # and by all that vote
WEAK_EVIDENCE = 0.6  # strength of the evidence for a branching direction below which a warning is printed
PRIORS = "function-words:0.5,branching:0.1,punctuation:0.1,brackets:1,joining-marks:1"  # see docs/models/npcfg.md
KEPT = ("text", "dev")  # of a request
SERIES = 100  # by which the seeds of parts differ from one --seed to the next
DECIDED = ("done", "log", "branching", "speed", "words", "text_share", "vote_share", "series", "ranks")  # of a plan
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
    prefix_symbols: float = 2.0  # strength of that prior; only teachers need it, to find verb phrases
    settings: tuple[str, ...] = ()

    @property
    def is_grammar(self) -> bool:
        """Whether its passes are counted, and not its minutes."""
        return "pcfg" in self.preset and not self.settings

    def waits_for(self, other: Part) -> bool:
        """Whether ``other`` is trained before it."""
        return any(name_of(teacher) in (other.name, other.group) for teacher in self.focus)

    @property
    def group(self) -> str:
        """GROUP of GROUP-K."""
        return self.name.partition("-")[0]


def name_of(teacher: str) -> str:
    """NAME of ``NAME:DECODER``, GROUP of ``GROUP/K``."""
    return teacher.partition(":")[0].partition("/")[0]


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
        parts.append(Part(f"second-{k}", preset, 6, seed=k, focus=(teacher,), prefix_symbols=0))
    return tuple(parts)


#: fast models that learn the trees of the grammars' vote, and vote with these
PUPILS = tuple(Part(f"pupil-{k}", "chart-small", 2, seed=k, focus=(VOTE,)) for k in range(1, 5))


def is_best(run: str) -> bool:
    """Whether the folder ``run`` holds a plan to go on with."""
    return (Path(run) / PLAN).exists()


@dataclass
class Plan:
    """What was asked for, what is done, and what was decided: plan.json."""

    folder: Path
    request: RunRequest
    minutes: float
    done: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    branching: str = ""
    speed: float = 0.0  # words a second that a grammar learns from
    words: int = 0  # of the text, where they were counted
    text_share: float = 0.0  # of the sentences, what the parts learn from; 0: not decided
    vote_share: float = 0.0  # and the pupils of the vote
    series: int = 0
    ranks: dict[str, list[str]] = field(default_factory=dict)  # the parts of a group, the best first

    @classmethod
    def open(cls, folder: Path, request: RunRequest, minutes: float | None, tell: Tell) -> Plan:
        """The plan in ``folder`` if it goes on, else a new one. Raises SynparseError if there is one that must stay."""
        path = folder / PLAN
        if request.resume and path.exists():
            return cls._stored(path, request, minutes)
        if "-" in request.text:
            raise SynparseError("--best reads its text several times; give it as a file, not as standard input")
        check_type(folder, PathType.ENSEMBLE)
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
    def _stored(cls, path: Path, request: RunRequest, minutes: float | None) -> Plan:
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
        except KeyError as error:
            raise SynparseError(
                f"{path}: a plan of another version, without {error}; begin anew with --overwrite"
            ) from None
        except (ValueError, TypeError) as error:
            raise SynparseError(f"{path}: not the plan of a run ({error}); begin anew with --overwrite") from None

    def choose_branching(self, part: Part, tell: Tell) -> None:
        """Report the branching direction that priors assume, as estimated by ``part`` from its training text."""
        from induce.parsing.load import read_trained

        if self.branching:
            return
        edges = Edges.in_facts(read_trained(self.folder / "parts" / part.name).facts)
        if edges is None:
            return
        self.branching = edges.branching.direction or "neither"
        shares = f"{edges.first:.0f}% begin, {edges.last:.0f}% end"
        evidence = f"sentences with a frequent word at an edge: {shares} with one"
        self.say(f"branching: {self.branching}, strength {edges.strength:.2f} ({evidence})", tell)
        if edges.strength < WEAK_EVIDENCE:
            self.say(
                f"warning: weak evidence for the branching direction ({edges.difference:+.0f} points, standard error "
                f"{edges.error:.1f}); the trees may be no better than trivial ones",
                tell,
            )

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

    def choose_shares(self, pupils: float, count: int, tell: Tell) -> None:
        """How much of the text is learned from, and how much of that by the pupils of the vote: as much as can be
        parsed in the time that training, and the ``pupils``, in minutes of one core, leave; half of it at least for
        the vote."""
        learned = 60 * self.speed * max(0.1 * self.minutes * count, self.minutes * count * (1 - TRAINING) - pupils)
        taught = min(self.words, learned / 2 / TEACHING / max(1, self.series))
        voted = min(taught, (learned - taught * TEACHING * self.series) / VOTING)
        for name, words in (("text_share", taught), ("vote_share", voted)):
            setattr(self, name, max(0.001, round(words / self.words, 3)) if self.words else 1.0)
        if self.vote_share < 1:
            found = f"{self.text_share:.1%} of the sentences; pupils of the vote learn from {self.vote_share:.1%}"
            self.say(f"there is time to learn from {found}", tell)
        self.write()

    def rank(self, group: str, rivals: Sequence[str], chosen: str, tell: Tell) -> None:
        """Order the ``rivals`` of a group, if there are some, the best first: by perplexity of the development text.
        ``chosen`` says what for."""
        from induce.storage.checkpoint import find, read

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
        prefix = f"prefix-symbols:{part.prefix_symbols:g}," if part.prefix_symbols else ""
        settings = (f"parse.priors={prefix}{PRIORS}",) if part.focus and "pcfg" in part.preset else ()
        share = self.vote_share if VOTE in part.focus else self.text_share
        learned = (f"data.text_share={share:g}",) if 0 < share < 1 else ()
        return replace(
            self.request,
            run=str(run),
            preset=part.preset,
            seed=self.seed_of(part),
            settings=(*learned, *settings, *part.settings),
            teachers=tuple(
                f"{self.folder / 'parts' / name}" + (f"@decoder={decoder}" if decoder else "")
                for name, _, decoder in focus
            ),
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
