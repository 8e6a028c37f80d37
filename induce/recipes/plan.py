"""State of a recipe job, stored in ``RUN/plan.json``: the request, the decisions, and the parts that are trained."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf, sqrt
from pathlib import Path
from statistics import geometric_mean

from induce.decoding.specification import parse_priors
from induce.recipes.recipe import VOTE, Member, Recipe
from induce.recipes.schedule import packed_minutes
from induce.settings.presets import resolve
from induce.storage.checkpoint import find, read
from induce.storage.facts import RunFacts
from induce.storage.locate import ENSEMBLE, PLAN, PathType
from induce.storage.model_spec import ModelSpec
from induce.storage.run_folder import check_type, clear, has_begun, resumable
from induce.training.job import StoredJob, StoredRequest, part_request
from induce.training.request import RunRequest
from induce.training.sources import is_corpus
from treebank.base.callbacks import ignore
from treebank.base.errors import SynparseError, UsageError
from treebank.base.metadata import FileFormat, read_metadata, write_metadata

FORMAT = FileFormat(2, "the plan of a job", "begin again with --overwrite")
PARTS = "parts"  # folder of the runs, in that of the job
SEEDS_PER_JOB = 100  # distance of the seeds of two jobs
MAX_SEED = 2**32 // SEEDS_PER_JOB - 10  # of a job, with room for the seeds of its members
MAX_MINUTES = 1e7
# limits of the strength of the estimated prior, the power of the perplexity, and the words of a small text, which were
# fitted to the texts in docs/results/ensembles.md
WEAKEST, STRONGEST, STEEPNESS, FEW_WORDS = 0.25, 2.0, 16, 40_000
Report = Callable[[str], None]


@dataclass(kw_only=True)
class StoredPlan(StoredJob):
    """The content of plan.json: a job with its decisions and progress."""

    recipe: Recipe
    minutes: float  # wall-clock time
    seconds: float = 0.0  # of this time that is over
    done: tuple[str, ...] = ()  # names of the trained members
    log: tuple[str, ...] = ()  # reported decisions
    series: int = 0
    words: int = 0  # of the training text
    text_share: float = 0.0  # of the sentences that the parts learn from; 0: not decided
    vote_share: float = 0.0  # of the sentences that the students of the vote learn from
    strength: float = 0.0  # of the estimated prior; 0: not decided
    best: str = ""  # the member of the part ``result`` with the lowest perplexity; "": not decided

    def __post_init__(self) -> None:
        """Raises ValueError for numbers out of range, and for members that the recipe does not have."""
        if not 0 <= (self.request.seed or 0) < 2**32 or not 0 < self.minutes < MAX_MINUTES:
            raise ValueError("the seed or the minutes are out of range")
        if not 0 <= self.seconds < inf:
            raise ValueError("the seconds are out of range")
        if not 0 <= self.series <= self.recipe.max_series or self.words < 0:
            raise ValueError("the number of series or of words is out of range")
        if not 0 <= self.strength <= STRONGEST:
            raise ValueError("the strength of the prior is out of range")
        if not 0 <= self.text_share <= 1 or not 0 <= self.vote_share <= 1:
            raise ValueError("a share is not between 0 and 1")
        members = [*self.recipe.series(max(1, self.series)), *self.recipe.student_members()]
        if not {*self.done, *filter(None, [self.best])} <= {member.name for member in members}:
            raise ValueError("it names members that the recipe does not have")


class Plan(StoredPlan):
    """A stored job that is in progress: with its folder, and with the request of a user, which can have sentences."""

    def __init__(self, stored: StoredPlan, user_request: RunRequest, report: Report = ignore) -> None:
        """``report`` is called with decisions and notes for the user."""
        super().__init__(**vars(stored))
        self.folder, self.user_request, self.report = Path(user_request.run), user_request, report
        self._since = time.monotonic()  # from when on ``seconds`` does not count
        self.teaching_seconds = 0.0  # of this call, in which the text was parsed for parts

    @classmethod
    def open(cls, request: RunRequest, recipe: Recipe, minutes: float | None, report: Report = ignore) -> Plan:
        """The stored plan of a resumed job, else a new one, which is not written yet.

        ``minutes`` count from now on. Without them, a resumed job has the rest of its time, and all of it if a part
        was deleted. Raises UsageError for more minutes, or a larger seed, than a plan can have, and SynparseError if
        the folder holds something else, or a job that is not to be overwritten.
        """
        folder = Path(request.run)
        path = folder / PLAN
        stored = read_metadata(path, StoredPlan, FORMAT) if request.resume and path.exists() else None
        limit = minutes or (stored or recipe).minutes
        if not limit < MAX_MINUTES:
            raise UsageError(f"{limit:g} minutes: a recipe takes less than {MAX_MINUTES:,.0f}; give fewer minutes")
        if (request.seed or 0) > MAX_SEED:
            raise UsageError(f"--seed {request.seed}: a recipe takes seeds up to {MAX_SEED}")
        if stored:
            plan = cls(replace(stored, minutes=limit), stored.request.resumed(request), report)
            plan.done = tuple(name for name in plan.done if resumable(plan.run_of(name)))  # the others were deleted
            if minutes or plan.done != stored.done:
                plan.seconds = 0.0
            return plan
        if "-" in request.text:
            raise SynparseError("a recipe reads its text several times; give it as a file, not as standard input")
        for corpus in filter(is_corpus, request.text):
            raise SynparseError(f"{corpus}: a recipe parses its text, which is not in a prepared corpus; give the text")
        if request.resume and not request.text:
            raise SynparseError(f"{folder}: there is no job to resume; to begin one, leave out --resume")
        check_type(folder, PathType.ENSEMBLE, PathType.JOB)
        exists = any((folder / name).exists() for name in (PARTS, ENSEMBLE, PLAN))
        if exists and not (request.overwrite and path.exists()):
            raise SynparseError(f"{folder}: there is a model already; name another folder with -o, or use --resume")
        request = replace(request, resume=False, seed=request.seed or 1)
        return cls(StoredPlan(request=StoredRequest.of(request), recipe=recipe, minutes=limit), request, report)

    def begin(self) -> None:
        """Write a new plan, after everything that can fail without a trained model. Remove an overwritten job."""
        if not (self.folder / PLAN).exists() or (self.user_request.overwrite and not self.done):
            self._remove_parts()
            (self.folder / ENSEMBLE).unlink(missing_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.write()

    def _remove_parts(self) -> None:
        """Remove the runs and the vote of an overwritten job, and nothing else."""
        for run in sorted((self.folder / PARTS).glob("*")):
            if run.is_dir() and (run.name == VOTE or run.name.rpartition("-")[2].isdecimal()):
                clear(run)
                (run / ENSEMBLE).unlink(missing_ok=True)
                with suppress(OSError):  # not empty: it contains files of the user
                    run.rmdir()

    def run_of(self, name: str) -> Path:
        """Folder of the run ``name``."""
        return self.folder / PARTS / name

    @property
    def minutes_left(self) -> float:
        """The rest of the time, below 0 if the job takes longer."""
        return self.minutes - (self.seconds + time.monotonic() - self._since) / 60

    def stretch(self, members: Sequence[Member], cores: int) -> float:
        """The factor on the minutes of each member with which they use the training time of ``cores`` cores."""
        stages = self.recipe.stages(members)
        return self.minutes * self.recipe.training_share / sum(packed_minutes(stage, cores) for stage in stages)

    def choose_series(self, cores: int) -> list[Member]:
        """The members of as many series as there is time for."""
        if not self.series:
            self.series = 1
            while self.series < self.recipe.max_series:
                if self.stretch(self.recipe.series(self.series + 1), cores) < 1:
                    break
                self.series += 1
            self.decide(f"{self.series} series of models")
        return self.recipe.series(self.series)

    def choose_shares(self, training_minutes: float, cores: int) -> None:
        """Choose the shares of the text that is learned from, by the parts and by the students of the vote.

        As much is used as can be parsed in the time that ``training_minutes`` of all members leave; at least half of
        that time is for the vote.
        """
        recipe, parsing_minutes = self.recipe, max(0.1 * self.minutes, self.minutes - training_minutes)
        learned = 60 * recipe.words_per_second * parsing_minutes * cores
        teaching, voting = (cost * max(1, self.series) for cost in (recipe.teaching_cost, recipe.voting_cost))
        part_words = min(self.words, learned / 2 / teaching)
        vote_words = min(part_words, (learned - part_words * teaching) / voting)
        self.text_share, self.vote_share = (
            max(0.001, round(words / self.words, 3)) if self.words else 1.0 for words in (part_words, vote_words)
        )
        if self.vote_share < 1:
            shares = f"{self.text_share:.1%} of the sentences; students of the vote learn from {self.vote_share:.1%}"
            self.decide(f"there is time to learn from {shares}")
        self.write()

    def fit_vote_share(self, minutes: float, cores: int) -> None:
        """Reduce the share for students of the vote, to at least a tenth, if it cannot be parsed in ``minutes``.

        If parsing for other parts took longer than planned, parsing for students takes longer by the same factor.
        Nothing changes after a student has begun.
        """
        if any(has_begun(self.run_of(member.name)) for member in self.recipe.student_members()):
            return
        recipe, words = self.recipe, self.words * max(1, self.series)
        teaching, voting = (
            cost * words * share / (60 * recipe.words_per_second * cores)
            for cost, share in ((recipe.teaching_cost, self.text_share), (recipe.voting_cost, self.vote_share))
        )
        voting *= max(1.0, self.teaching_seconds / 60 / teaching) if teaching else 1.0
        if 0 < minutes < voting:
            self.vote_share = max(0.001, round(self.vote_share * max(0.1, minutes / voting), 3))
            self.decide(f"there is time for students of the vote to learn from {self.vote_share:.1%} of the sentences")

    def report_branching(self, member: Member) -> None:
        """Report the branching direction that priors assume, as estimated by ``member`` from the text."""
        direction = self.facts_of(member.name).direction
        for line in direction.lines() if direction else ():
            self.decide(line)

    def estimate_strength(self, members: Sequence[Member]) -> None:
        """Decide the strength of the estimated prior once, when all ``members`` of the compared parts are trained."""
        compared = [member for member in members if member.part in self.recipe.compared]
        if not self.recipe.estimated_prior or self.strength or not {member.name for member in compared} <= {*self.done}:
            return
        histories = [self.facts_of(member.name).history for member in compared]
        epochs = min(max((check.epoch for check in checks), default=0) for checks in histories)  # some had less time
        if not epochs:  # the strengths in the settings of the parts apply
            return
        with_teacher = [self._perplexity(member.name, epochs) for member in compared if member.teachers]
        without = [self._perplexity(member.name, epochs) for member in compared if not member.teachers]
        self.strength = prior_strength(with_teacher, without, self.words * (self.text_share or 1.0))
        self.decide(
            f"perplexity of the development text {geometric_mean(with_teacher):.1f} with teachers and "
            f"{geometric_mean(without):.1f} without: prior {self.recipe.estimated_prior}:{self.strength:g}"
        )

    def model_of(self, name: str) -> ModelSpec:
        """The run ``name`` as a voter or teacher: with the estimated strength, if its part has that prior."""
        spec = ModelSpec(path=str(self.run_of(name)))
        part_name, _, number = name.rpartition("-")
        part = next((part for part in self.recipe.parts if part.name == part_name), None)
        if not self.strength or not part:
            return spec
        config = resolve(preset=Member(part, int(number)).preset, settings=part.settings)
        priors = {prior.name: prior.strength for prior in parse_priors(config.parse.priors)}
        if self.recipe.estimated_prior not in priors:
            return spec
        priors[self.recipe.estimated_prior] = self.strength
        return replace(spec, priors="+".join(f"{key}:{value:g}" for key, value in priors.items()))

    def facts_of(self, name: str) -> RunFacts:
        """Facts about the run ``name``, at its last step that is stored."""
        return read(find(self.run_of(name), ("last",))).facts

    def _perplexity(self, name: str, epochs: float = inf) -> float:
        """The lowest perplexity of the development text that the run ``name`` had in its first ``epochs``."""
        perplexities = (check.development_perplexity for check in self.facts_of(name).history if check.epoch <= epochs)
        return min(perplexities, default=inf)

    def best_of(self, rivals: Sequence[str]) -> str:
        """The run among ``rivals`` with the lowest perplexity of the development text. Decided once."""
        if not self.best:
            scores = {name: self._perplexity(name) for name in rivals}
            ranking = sorted(scores, key=scores.__getitem__)
            self.best = ranking[0]
            order = ", ".join(f"{name} {scores[name]:.1f}" for name in ranking)
            self.decide(f"perplexity of the development text: {order}; the lowest is the result")
        return self.best

    def teachers_of(self, member: Member) -> list[str]:
        """Names of the runs that teach ``member``. Members that teach together are evenly spaced in their series."""
        part, name = member.part, member.teachers
        if name in ("", VOTE):
            return [VOTE] if name else []
        count = next(teacher.count for teacher in self.recipe.parts if teacher.name == name)
        series, index = divmod(member.number - 1, part.count)
        step = count // part.teachers_per_student
        turn = series * (part.with_teacher or part.count) + index
        series, index = divmod(turn % (step * max(1, self.series)), step)
        return [f"{name}-{series * count + index + other * step + 1}" for other in range(part.teachers_per_student)]

    def voters(self) -> list[str]:
        """Names of the trained members that vote, without the students of the vote."""
        members = self.recipe.series(max(1, self.series))
        return [member.name for member in members if member.part.votes and member.name in self.done]

    def request_of(self, member: Member) -> RunRequest:
        """The request of one training run, which is resumed if it has begun."""
        share = self.vote_share if member.teachers == VOTE else self.text_share
        return part_request(self.new_request(member, share))

    def new_request(self, member: Member, share: float = 0.0) -> RunRequest:
        """The request of a training run that has not begun, with a ``share`` of the text or, if it is 0, all of it."""
        text_share = (f"data.text_share={share:g}",) if 0 < share < 1 else ()
        return replace(
            self.user_request,
            run=str(self.run_of(member.name)),
            preset=member.preset,
            seed=member.number + SEEDS_PER_JOB * ((self.request.seed or 1) - 1),
            settings=(*text_share, *member.part.settings),
            teachers=tuple(self.model_of(name).name for name in self.teachers_of(member)),
            overwrite=False,
        )

    def decide(self, line: str) -> None:
        """Report a decision, and store it."""
        self.report(line)
        if line not in self.log:
            self.log += (line,)
        self.write()

    def finish(self, name: str) -> None:
        """Note that the run ``name`` is trained."""
        self.done += (name,)
        self.write()

    def write(self) -> None:
        """Write plan.json, completely or not at all."""
        now = time.monotonic()
        self.seconds, self._since = self.seconds + now - self._since, now
        write_metadata(self.folder / PLAN, self, FORMAT)


def prior_strength(with_teacher: Sequence[float], without: Sequence[float], words: float) -> float:
    """Strength of a prior for grammars that learned from a text of so many ``words``.

    The perplexities are those of grammars whose teacher has the same preference as the prior, and of others. If the
    teacher lowers the perplexity, its trees help to predict the words, and grammars improve on them: the prior is weak.
    If it does not, grammars drift to worse trees, and the prior is strong. Between the limits, each 4.2 % of perplexity
    halve the strength, and so does a text of four times as many words. The rule was fitted to 19 texts
    (docs/results/ensembles.md).

    >>> prior_strength([570.0, 590.0], [610.0, 620.0], 40_000)
    0.78
    """
    ratio = geometric_mean(with_teacher) / geometric_mean(without)
    strength = STRONGEST * ratio**STEEPNESS * sqrt(FEW_WORDS / max(words, 1))
    return round(min(STRONGEST, max(WEAKEST, strength)), 2)
