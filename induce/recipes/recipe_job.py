"""State of a recipe job, stored in ``RUN/plan.json``: the request, the decisions, and the runs that are trained."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf, sqrt
from pathlib import Path
from statistics import geometric_mean

from induce.decoding.specification import parse_priors
from induce.recipes.recipe import VOTE, PartRun, Recipe
from induce.settings.presets import resolve
from induce.settings.run import RunConfig
from induce.storage.checkpoint import RunFacts, find, read
from induce.storage.locate import ENSEMBLE, PLAN, ModelSpec, PathType
from induce.storage.model_file import RESUME
from induce.storage.outputs import check_free, check_type, clear, resumable
from induce.training.parallel import StoredJob, part_request
from induce.training.request import RunRequest, is_corpus
from treebank.base.arguments import ignore
from treebank.base.errors import SynparseError, UsageError
from treebank.base.files import digest_bytes
from treebank.base.metadata import FileFormat, json_text, read_metadata, write_metadata

FORMAT = FileFormat(6, "the plan of a job", "begin again with --overwrite")
PARTS = "parts"  # folder of the runs, in that of the job
SEEDS_PER_JOB = 100  # distance of the seeds of two jobs
MAX_SEED = 2**32 // SEEDS_PER_JOB - 10  # of a job, with room for the seeds of its runs
MAX_MINUTES = 1e7
BRANCHING = "parse.branching="  # the setting of a request that all parts with priors take
# limits of the strength of the estimated prior, the power of the perplexity, and the words of a small text, which were
# fitted to the texts in docs/results/ensembles.md
WEAKEST, STRONGEST, STEEPNESS, FEW_WORDS = 0.25, 2.0, 16, 40_000
Report = Callable[[str], None]


@dataclass(kw_only=True)
class RecipePlan(StoredJob):
    """The content of plan.json: a job with its decisions and progress."""

    recipe: Recipe
    minutes: float  # wall-clock time
    limited: bool = False  # whether training ends in this time; otherwise it is only planned for this time
    seconds: float = 0.0  # wall-clock time that is over
    planned: tuple[float, ...] = ()  # minutes of the stages that have begun, at the speed that the recipe expects
    done: tuple[str, ...] = ()  # names of the trained runs
    log: tuple[str, ...] = ()  # reported decisions
    presets_sha256: str = ""  # `preset_digest` of the recipe
    words: int = 0  # of the training text; 0: not read
    shares: tuple[float, ...] = ()  # of the sentences, that the runs of each stage learn from, as far as decided
    words_per_second: float = 0.0  # that the first grammars learned from; 0: not measured, or no limit
    strength: float = 0.0  # of the estimated prior; 0: not decided

    def __post_init__(self) -> None:
        """Raises ValueError for numbers out of range, and for runs that the recipe does not have."""
        if not 0 <= (self.request.seed or 0) < 2**32 or not 0 < self.minutes < MAX_MINUTES:
            raise ValueError("the seed or the minutes are out of range")
        if not 0 <= self.seconds < inf or self.words < 0 or not 0 <= self.words_per_second < inf:
            raise ValueError("the number of seconds or of words is out of range")
        if not 0 <= self.strength <= STRONGEST or not all(0 <= share <= 1 for share in self.shares):
            raise ValueError("a share or the strength of the prior is out of range")
        if not {*self.done} <= {run.name for run in self.recipe.runs}:
            raise ValueError("it names runs that the recipe does not have")


class RecipeJob:
    """A plan in progress, with its folder and the request of a user, which can have sentences."""

    def __init__(self, plan: RecipePlan, request: RunRequest, report: Report = ignore) -> None:
        """``report`` is called with decisions and notes for the user."""
        self.plan, self.request, self.report = plan, request, report
        self.folder = Path(request.run)
        self._since = time.monotonic()  # from when on ``plan.seconds`` does not count

    @classmethod
    def open(cls, request: RunRequest, recipe: Recipe, minutes: float | None, report: Report = ignore) -> RecipeJob:
        """The stored job if it is resumed, else a new one, which is not written yet.

        ``minutes`` are a limit, and count from now on, also for runs of the last stage that the time ended. Without
        them, a new job has no limit, and a resumed one the rest of its time, and all of it if a run was deleted.
        Raises UsageError for more minutes, or a larger seed, than a job can have, and SynparseError if the folder holds
        something else, or a job that is not to be overwritten.
        """
        folder = Path(request.run)
        path = folder / PLAN
        stored = read_metadata(path, RecipePlan, FORMAT) if request.resume and path.exists() else None
        limit = minutes or (stored or recipe).minutes
        if not limit < MAX_MINUTES:
            raise UsageError(f"{limit:g} minutes: a recipe takes less than {MAX_MINUTES:,.0f}; give fewer minutes")
        if (request.seed or 0) > MAX_SEED:
            raise UsageError(f"--seed {request.seed}: a recipe takes seeds up to {MAX_SEED}")
        if stored:
            limited = stored.limited or bool(minutes)
            job = cls(replace(stored, minutes=limit, limited=limited), stored.request.resumed_by(request), report)
            done = tuple(name for name in stored.done if resumable(job.run_folder(name)))  # the others were deleted
            last = {run.name for run in stored.recipe.stages[-1] if run.part.max_passes} if minutes else ()
            # with more time, models from which no other learns continue if the time ended them
            job.plan.done = tuple(name for name in done if name not in last or job.facts_of(name).finished)
            job.plan.seconds = 0.0 if minutes or done != stored.done else stored.seconds
            return job
        if "-" in request.text:
            raise SynparseError("a recipe reads its text several times; give it as a file, or choose --model")
        for corpus in filter(is_corpus, request.text):
            raise SynparseError(
                f"{corpus}: a recipe parses its text, which is not in a prepared corpus; give the text or --model"
            )
        if request.resume and not request.text:
            raise SynparseError(f"{folder}: there is no run to resume; to begin one, leave out --resume")
        request = replace(request, resume=False, seed=request.seed or 1)
        plan = RecipePlan(request=request.stored(), recipe=recipe, minutes=limit, limited=bool(minutes))
        job = cls(plan, request, report)
        job.check_free()
        return job

    def check_free(self) -> None:
        """Raises SynparseError if the folder of this new job contains something that must not be replaced."""
        folder, is_job = self.folder, (self.folder / PLAN).exists()
        if is_job:
            check_type(folder, PathType.ENSEMBLE, PathType.MODEL, PathType.JOB)
        else:
            check_free(folder, overwrite=self.request.overwrite)
        if (is_job and not self.request.overwrite) or (folder / PARTS).exists() > is_job:
            raise SynparseError(f"{folder}: there is a model already; name another folder with -o, or use --resume")

    def begin(self) -> None:
        """Write a new plan, after everything that can fail without a trained model. Remove an overwritten job."""
        self.check_free()  # again: another job may have begun meanwhile
        for run in sorted((self.folder / PARTS).glob("*")):
            suffix = run.name.rpartition("-")[2]
            if run.is_dir() and (suffix == VOTE or suffix.isdecimal()):
                clear(run)
                (run / ENSEMBLE).unlink(missing_ok=True)
                with suppress(OSError):  # not empty: it contains files of the user
                    run.rmdir()
        clear(self.folder)
        (self.folder / ENSEMBLE).unlink(missing_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.write()

    def write(self) -> None:
        """Write plan.json, completely or not at all."""
        now = time.monotonic()
        self.plan.seconds, self._since = self.plan.seconds + now - self._since, now
        write_metadata(self.folder / PLAN, self.plan, FORMAT)

    @property
    def minutes_used(self) -> float:
        """Wall-clock time that is over."""
        return (self.plan.seconds + time.monotonic() - self._since) / 60

    @property
    def minutes_left(self) -> float:
        """The rest of the time, below 0 if the job takes longer."""
        return self.plan.minutes - self.minutes_used

    def left_for(self, number: int) -> float:
        """Minutes for stage ``number`` and all later ones: without a limit, as planned, whatever the speed is."""
        plan = self.plan
        return self.minutes_left if plan.limited else plan.minutes - sum(plan.planned[:number])

    @property
    def is_over(self) -> bool:
        """Whether the time limit is reached, and there is a result."""
        return self.plan.limited and self.minutes_left <= 0 and bool(self.trained(voters=True))

    def decide(self, line: str) -> None:
        """Report a decision to the user, and store it."""
        self.report(line)
        self.note(line)

    def note(self, line: str) -> None:
        """Store a decision."""
        if line not in self.plan.log:
            self.plan.log += (line,)
        self.write()

    def finish(self, name: str) -> None:
        """Note that the run ``name`` is trained."""
        self.plan.done += (name,)
        self.write()

    def run_folder(self, name: str) -> Path:
        """Folder of the run ``name``."""
        return self.folder / PARTS / name

    def facts_of(self, name: str) -> RunFacts:
        """Facts about the run ``name``, at its last step that is stored."""
        return read(find(self.run_folder(name), (RESUME,))).facts

    def config_of(self, name: str) -> RunConfig:
        """The settings of the run ``name``, which has begun."""
        return read(find(self.run_folder(name), (RESUME,))).config

    def trained(self, *, voters: bool = False) -> list[PartRun]:
        """The trained runs, or those of them that vote: without students of the vote."""
        runs = [run for run in self.plan.recipe.runs if run.name in self.plan.done]
        return [run for run in runs if run.part.votes and run.part.teachers != VOTE] if voters else runs

    def estimate_strength(self) -> None:
        """Decide the strength of the estimated prior once, when all runs of parts with and without teachers end."""
        plan = self.plan
        compared = [run for run in plan.recipe.runs if 0 < run.part.with_teacher < run.part.count]
        if not plan.recipe.estimated_prior or plan.strength or not {run.name for run in compared} <= {*plan.done}:
            return
        facts = {run: self.facts_of(run.name) for run in compared}
        epochs = min(max((check.epoch for check in run_facts.history), default=0) for run_facts in facts.values())
        if not epochs:  # the strengths in the settings of the parts apply
            return
        with_teacher, free = (
            geometric_mean(perplexity(facts[run], epochs) for run in compared if bool(run.teachers) is has_teacher)
            for has_teacher in (True, False)
        )
        plan.strength = prior_strength(with_teacher, free, plan.words * min(plan.shares, default=1.0))
        self.note(
            f"perplexity of the development text {with_teacher:.1f} with teachers and {free:.1f} without: prior "
            f"{plan.recipe.estimated_prior}:{plan.strength:g}"
        )

    def model_spec(self, name: str) -> ModelSpec:
        """The run ``name`` as a voter or teacher: with the estimated strength, if its part has that prior."""
        spec, recipe = ModelSpec(path=str(self.run_folder(name))), self.plan.recipe
        run = next((run for run in recipe.runs if run.name == name), None)
        if not self.plan.strength or not run:
            return spec
        config = resolve(preset=run.preset, settings=run.part.settings)
        priors = {prior.name: prior.strength for prior in parse_priors(config.parse.priors)}
        if recipe.estimated_prior not in priors:
            return spec
        priors[recipe.estimated_prior] = self.plan.strength
        return replace(spec, priors="+".join(f"{key}:{value:g}" for key, value in priors.items()))

    def request_of(self, run: PartRun) -> RunRequest:
        """The request of one training run, which is resumed if it has begun."""
        number = next(number for number, stage in enumerate(self.plan.recipe.stages) if run in stage)
        return part_request(self.new_request(run, dict(enumerate(self.plan.shares)).get(number, 1.0)))

    def new_request(self, run: PartRun, share: float = 1.0) -> RunRequest:
        """The request of a training run that has not begun, with a ``share`` of the text."""
        text_share = (f"data.text_share={share:g}",) if share < 1 else ()
        return replace(
            self.request,
            run=str(self.run_folder(run.name)),
            preset=run.preset,
            seed=run.number + SEEDS_PER_JOB * ((self.request.seed or 1) - 1),
            settings=(*text_share, *run.part.settings, *self.request.settings),
            teachers=(self.model_spec(run.teacher).name,) if run.teacher else (),
            overwrite=False,
        )


def preset_digest(recipe: Recipe) -> str:
    """The digest of the settings in the user's presets of ``recipe``, "" if all presets are shipped."""
    names = sorted({name for part in recipe.parts for name in part.presets if name.endswith(".toml")})
    return digest_bytes(json_text([resolve(preset=name).as_dict() for name in names]).encode()) if names else ""


def perplexity(facts: RunFacts, epochs: float = inf) -> float:
    """The lowest perplexity of the development text in the first ``epochs`` of a run."""
    perplexities = (check.development_perplexity for check in facts.history if check.epoch <= epochs)
    return min(perplexities, default=inf)


def prior_strength(with_teacher: float, free: float, words: float) -> float:
    """Strength of a prior for grammars that learned from a text of so many ``words``.

    The perplexities are those of grammars whose teacher has the same preference as the prior, and of others. If the
    teacher lowers the perplexity, its trees help to predict the words, and grammars improve on them: the prior is weak.
    If it does not, grammars drift to worse trees, and the prior is strong. Between the limits, each 4.2 % of perplexity
    halve the strength, and so does a text of four times as many words. The rule was fitted to 19 texts
    (docs/results/ensembles.md).

    >>> prior_strength(580.0, 615.0, 40_000)
    0.78
    """
    strength = STRONGEST * (with_teacher / free) ** STEEPNESS * sqrt(FEW_WORDS / max(words, 1))
    return round(min(STRONGEST, max(WEAKEST, strength)), 2)
