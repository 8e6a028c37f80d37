"""Request of a user for a training run, and the settings and sources that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from induce.settings.presets import changed, resolve, with_seed
from induce.settings.run import RunConfig
from induce.storage.run_folder import resume_command
from induce.training.corpora import prepared_rule
from induce.training.sources import Sources, Text, is_corpus
from treebank.base.arguments import canonical
from treebank.base.errors import SynparseError, UsageError
from treebank.corpora.catalog import files_of
from treebank.io.read import InputOptions
from treebank.tokenize import NONE

if TYPE_CHECKING:
    from induce.storage.checkpoint import Checkpoint
    from induce.storage.facts import RunFacts

CHANGEABLE = ("train.epochs", "optimizer.learning_rate")  # settings that may change on resume
DEVELOPMENT_SHARE = "data.development_share"
Stop = Callable[[], bool]


@dataclass(frozen=True, kw_only=True)
class RunRequest(Sources):
    """Request of a user for a training run. None and empty values stand for the default."""

    run: str
    model: str | None = None
    preset: str | None = None
    settings: Sequence[str] = ()
    task: str = ""
    seed: int | None = None
    resume: bool = False
    overwrite: bool = False
    device: str = "auto"

    @property
    def changes(self) -> list[str]:
        """All changes ``table.key=value``: the tokenization first, the seed last."""
        rule = self.input_options.tokenize or prepared_rule(self.text)
        first = [f"data.tokenization={rule.removesuffix(NONE)}"] if rule else []
        return [*first, *with_seed(self.settings, self.seed)]


def unchangeable(option: str, stored: object) -> UsageError:
    """The error for an option that would change the ``stored`` value."""
    value = " ".join(stored) if isinstance(stored, tuple) else stored
    return UsageError(f"{option} cannot change on --resume: the run keeps {value or 'none'}")


def is_changeable(change: str) -> bool:
    """Whether a resumed run can take the setting ``change``, such as ``train.epochs=9``."""
    return change.partition("=")[0].strip() in CHANGEABLE


def resolved_config(request: RunRequest) -> RunConfig:
    """The settings of a new run. Raises SynparseError for unknown names, invalid values and settings without effect."""
    for change in request.settings if request.dev or request.sample else ():
        if change.partition("=")[0].strip() == DEVELOPMENT_SHARE:
            remedy = "with --dev; leave out one of them" if request.dev else "without TEXT"
            raise UsageError(f"setting {change!r} has no effect {remedy}")
    return resolve(
        model=request.model,
        preset=request.preset,
        settings=request.changes,
        sample=request.sample,
        task=request.task,
    )


def continued(checkpoint: Checkpoint, request: RunRequest) -> tuple[RunConfig, Sources]:
    """Settings and data of a resumed run. Raises UsageError if others than `CHANGEABLE` would change."""
    if checkpoint.facts.task_facts:
        command = resume_command(request.run, transfer=True)
        raise SynparseError(f"{request.run}: this run is a transfer; resume it with: {command}")
    config = checkpoint.config
    if not _requests(request, config):
        _check_unchanged(request, config)
        config = changed(config, request.settings)
    facts = checkpoint.facts
    sources = Sources(
        texts_of(request.text, facts.texts),
        texts_of(request.dev, facts.development_texts),
        request.trees or (facts.trees.name if facts.trees else None),
        _input_options(facts, request.input_options),
        tuple(request.teachers) or facts.teachers,
    )
    return config, sources


def texts_of(requested: Sequence[Text], stored: Sequence[str]) -> Sequence[Text]:
    """The ``requested`` texts, else the ``stored`` ones. Raises SynparseError if a stored path has no file."""
    if requested:
        return tuple(requested)
    try:
        files_of([path for path in stored if not is_corpus(path)])
    except SynparseError as error:
        remedy = "resume in the folder where training began, or give TEXT (and --dev) again"
        raise SynparseError(f"{error}; the run keeps paths as they were given: {remedy}") from None
    return tuple(stored)


def _requests(request: RunRequest, config: RunConfig) -> bool:
    """Whether a new run would have the settings ``config``, so that the call that began a run can also resume it."""
    try:
        return resolved_config(request).as_dict() == config.as_dict()
    except SynparseError:
        return False


def _check_unchanged(request: RunRequest, config: RunConfig) -> None:
    """Raises UsageError for an option that changes a setting that a run keeps."""
    options = {
        "--model": (request.model and canonical((config.model_name,), request.model), config.model_name),
        "--preset": (request.preset and canonical((config.preset,), request.preset), config.preset),
        "--seed": (request.seed, config.train.seed),
        "task": (request.task or None, config.task_name),
        "--tokenizer": (request.input_options.tokenize or None, config.data.tokenization),
    }
    check_kept(options, request.settings)


def check_kept(options: Mapping[str, tuple[Any, Any]], settings: Sequence[str]) -> None:
    """Raises UsageError for settings other than `CHANGEABLE`, and for an option that would change.

    ``options`` are pairs of a requested value, or None, and the stored value.
    """
    for name, (requested, stored) in options.items():
        if requested not in (None, stored):
            raise unchangeable(name, stored)
    for change in settings:
        if not is_changeable(change):
            raise UsageError(f"--set {change}: on --resume only {' and '.join(CHANGEABLE)} can change")


def _input_options(facts: RunFacts, options: InputOptions) -> InputOptions:
    """Input options of a resumed run: those of the request, else those that the run began with."""
    return replace(
        options,
        paragraphs=options.paragraphs or facts.paragraphs,
        form=options.form or facts.form,
        encoding=options.encoding or facts.encoding,
    )
