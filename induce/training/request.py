"""Request of a user for a training run: its sources and settings, and what may change when it is resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from induce.data.prepared import read_facts
from induce.registry import MODELS, PROGRAM, PURPOSE, TEACHERS, load, teacher_entry
from induce.settings.presets import changed, resolve, with_seed
from induce.settings.run import RunConfig, entry_of
from induce.storage.checkpoint import Checkpoint
from induce.storage.locate import PathType, locate, parse_model_spec
from induce.storage.outputs import check_new_folder, resume_command
from treebank.base.arguments import canonical
from treebank.base.errors import SynparseError, UsageError
from treebank.core.sentence import Sentence, as_sentence
from treebank.corpora.catalog import SAMPLE, files_of, read_input
from treebank.io.read import DEFAULT_INPUT, InputOptions
from treebank.tokenize import NONE

CHANGEABLE = ("train.epochs", "optimizer.learning_rate")  # settings that may change on resume
DEVELOPMENT_SHARE = "data.development_share"
HARMONIC_START = ("model.start_length", "model.start_rate")  # settings of initial trees without teachers
STORED_INPUT = ("tokenize", "paragraphs", "form", "encoding")  # fields of `InputOptions` that are stored
KEPT = ("trees", "teachers", "model", "preset", "purpose", "seed")  # fields of a request that cannot change on resume
PATHS_AS_GIVEN = "the run keeps paths as they were given: resume in the folder where training began, or give {} again"
OPTION_NAMES = {
    "text": "TEXT",
    "teachers": "--teacher",
    "purpose": PURPOSE,
    "tokenize": "--tokenizer",
    "form": "--input-format",
}
Stop = Callable[[], bool]
Text = str | Sequence[str]  # a path, a pattern, or a sentence as a list of words


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """Request of a user for a training run. None and empty values stand for the default.

    ``text`` and ``dev`` are paths, or in a program lists of words. Without ``text`` and ``trees``, the run uses the
    built-in sample. ``teachers`` are models, files of trees or heads, or other sources that a model learns from.
    """

    run: str = ""
    text: tuple[Text, ...] = ()
    dev: tuple[Text, ...] = ()
    trees: str | None = None
    teachers: tuple[str, ...] = ()
    input_options: InputOptions = DEFAULT_INPUT
    model: str | None = None
    preset: str | None = None
    settings: tuple[str, ...] = ()
    purpose: str = ""  # what the model is trained for, if it is not parsing
    seed: int | None = None
    resume: bool = False
    overwrite: bool = False
    device: str = "auto"

    def __post_init__(self) -> None:
        for name in ("text", "dev", "teachers", "settings"):
            object.__setattr__(self, name, tuple(getattr(self, name)))  # lists of a program

    @property
    def sample(self) -> bool:
        """Whether the run uses the built-in sample."""
        return not self.text and not self.trees

    @property
    def has_sample_trees(self) -> bool:
        """Whether the run uses the trees of the built-in sample alone, which has a development part."""
        return not self.text and self.trees == SAMPLE

    @property
    def changes(self) -> list[str]:
        """All changes ``table.key=value``: the tokenization first, the seed last."""
        prepared = read_facts(str(self.text[0])).tokenization if self.text and is_corpus(self.text[0]) else ""
        rule = self.input_options.tokenize or prepared
        first = [f"data.tokenization={rule.removesuffix(NONE)}"] if rule else []
        return [*first, *with_seed(self.settings, self.seed)]

    def check(self, config: RunConfig) -> None:
        """Raise SynparseError if the sources do not suit the model, or if a path does not exist."""
        self.check_model(config)
        texts = [path for path in self.text if not is_corpus(path)]
        files_of([path for path in (*texts, *self.dev) if isinstance(path, str)])

    def check_model(self, config: RunConfig) -> None:
        """Raise SynparseError if the sources do not suit the model: some models learn from trees and others cannot."""
        name, entry = config.model_name, entry_of(config)
        if self.trees and not entry.learns_trees:
            learners = " and ".join(name for name, entry in MODELS.items() if entry.learns_trees)
            raise SynparseError(
                f"model {name!r} learns from plain text alone; --trees is for {learners} (--model NAME)"
            )
        if self.text and not self.trees and not self.teachers and entry.learns_trees:
            raise SynparseError(
                f"model {name!r} also learns from trees; give them with --trees TREEBANK, or a model with --teacher"
            )
        if self.trees and self.teachers:
            raise SynparseError("--trees and --teacher exclude each other: a model learns from one type of trees")
        if entry.needs_teacher and not self.teachers:
            source = f"{entry.teacher_output} of another model"
            raise SynparseError(f"model {name!r} learns from {source}; name it with --teacher MODEL")
        if self.teachers:
            load(teacher_entry(self.teachers).check)(self, config)
        prepared = [path for path in self.text if is_corpus(path)]
        if prepared and (len(self.text) > 1 or self.trees or self.teachers or config.purpose_name):
            raise SynparseError(f"{prepared[0]}: a prepared corpus is trained on alone, without other text or trees")

    def check_output(self, config: RunConfig) -> None:
        """Raise SynparseError if the run folder would replace a file of the sources or settings."""
        paths = [path for path in (*self.text, *self.dev) if isinstance(path, str)]
        vocabulary = [config.data.vocabulary] if config.data.vocabulary else []
        check_new_folder(self.run, inputs=[*paths, *vocabulary], gold=self.trees, models=self.teachers)

    def stored(self) -> RunRequest:
        """The request as a job stores it: without its folder and device, which may change, and without sentences."""
        reading = InputOptions(**{name: getattr(self.input_options, name) for name in STORED_INPUT})
        text, dev = (tuple(each for each in texts if isinstance(each, str)) for texts in (self.text, self.dev))
        return replace(
            self, text=text, dev=dev, run="", input_options=reading, resume=False, overwrite=False, device="auto"
        )

    def resumed_by(self, request: RunRequest) -> RunRequest:
        """``request`` with the values of this stored one, and with its own texts, because their files may have moved.

        Settings that a resumed run can take are added. Raises UsageError for other settings, and for another value than
        the stored one; texts are compared by their content when they are read.
        """
        requested = request.stored()
        changes = requested.settings if requested.settings != self.settings else ()
        names = [*KEPT, *(name for name in ("text", "dev") if not getattr(self, name))]
        pairs = {name: (getattr(requested, name) or None, getattr(self, name)) for name in names}
        for name in STORED_INPUT:
            pairs[name] = (getattr(requested.input_options, name) or None, getattr(self.input_options, name))
        check_kept({OPTION_NAMES.get(name, f"--{name}"): pair for name, pair in pairs.items()}, changes)
        call = {name: getattr(request, name) for name in ("run", "resume", "overwrite", "device")}
        reading = {name: getattr(self.input_options, name) for name in STORED_INPUT}
        return replace(
            self,
            **call,
            text=texts_of(request.text, self.text),
            dev=texts_of(request.dev, self.dev),
            settings=self.settings + changes,
            input_options=replace(request.input_options, **reading),
        )


def names_of(text: Sequence[Text]) -> list[str]:
    """Paths in ``text``, and one name for all lists of words."""
    paths = [path for path in text if isinstance(path, str)]
    return paths if len(paths) == len(text) else [*paths, f"{len(text) - len(paths)} sentences of a program"]


def is_corpus(text: Text) -> bool:
    """Whether ``text`` is the path of a prepared corpus."""
    return isinstance(text, str) and locate(text).type is PathType.CORPUS


def read_text(
    text: Sequence[Text], options: InputOptions = DEFAULT_INPUT, *, part: str = "train"
) -> Iterator[Sentence]:
    """Sentences of files and treebanks, followed by those given as lists of words.

    ``part`` is the part of the built-in sample that is read under the name ``sample``. Raises SynparseError for a word
    that is empty or contains white space.
    """
    paths = [path for path in text if isinstance(path, str)]
    if paths:
        yield from read_input(paths, input_options=options, part=part)
    for words in text:
        if not isinstance(words, str):
            yield as_sentence(words)


def unchangeable(option: str, stored: object) -> UsageError:
    """The error for an option that would change the ``stored`` value."""
    value = " ".join(stored) if isinstance(stored, tuple) else stored
    return UsageError(f"{option} cannot change on --resume: the run keeps {value or 'none'}")


def is_changeable(change: str) -> bool:
    """Whether a resumed run can take the setting ``change``, such as ``train.epochs=9``."""
    return change.partition("=")[0].strip() in CHANGEABLE


def resolved_config(request: RunRequest) -> RunConfig:
    """The settings of a new run. Raises SynparseError for unknown names, invalid values and settings without effect."""
    for change in request.settings:
        name = change.partition("=")[0].strip()
        if name == DEVELOPMENT_SHARE and (request.dev or request.sample or request.has_sample_trees):
            remedy = "with --dev; leave out one of them" if request.dev else "without TEXT"
            raise UsageError(f"setting {change!r} has no effect {remedy}")
        if name in HARMONIC_START and request.teachers:
            raise UsageError(f"setting {change!r} has no effect with --teacher; leave out one of them")
    return resolve(
        model=request.model,
        preset=request.preset,
        settings=request.changes,
        sample=request.sample,
        purpose=request.purpose,
    )


def continued(checkpoint: Checkpoint, request: RunRequest) -> tuple[RunConfig, RunRequest]:
    """Settings and request of a resumed run. Raises UsageError if others than `CHANGEABLE` would change."""
    if checkpoint.facts.program_facts:
        command = resume_command(request.run, program=PROGRAM)
        raise SynparseError(f"{request.run}: this run has a program of its own; resume it with: {command}")
    config, facts, options = checkpoint.config, checkpoint.facts, request.input_options
    try:  # the call that began a run can also resume it
        begins = resolved_config(request).as_dict() == config.as_dict()
    except SynparseError:
        begins = False
    if not begins:
        pairs = {
            "--model": (request.model and canonical((config.model_name,), request.model), config.model_name),
            "--preset": (request.preset and canonical((config.preset,), request.preset), config.preset),
            "--seed": (request.seed, config.train.seed),
            PURPOSE: (request.purpose or None, config.purpose_name),
            "--tokenizer": (options.tokenize or None, config.data.tokenization),
        }
        check_kept(pairs, request.settings)
        config = changed(config, request.settings)
    reading = {name: getattr(options, name) or getattr(facts, name) for name in ("paragraphs", "form", "encoding")}
    if facts.trees and not request.trees:
        _check_present([facts.trees.name], "--trees")
    if not request.teachers:
        _check_present(facts.teachers, "--teacher")
    return config, replace(
        request,
        text=texts_of(request.text, facts.texts),
        dev=texts_of(request.dev, facts.development_texts),
        trees=request.trees or (facts.trees.name if facts.trees else None),
        input_options=replace(options, **reading),
        teachers=request.teachers or facts.teachers,
    )


def _check_present(names: Sequence[str], option: str) -> None:
    """Raise SynparseError if a stored treebank or teacher, the value of ``option``, does not exist."""
    for name in names:
        prefix, colon, path = name.partition(":")
        path = path if colon and prefix in TEACHERS else parse_model_spec(name).path
        if path and path not in TEACHERS and locate(path).type is PathType.MISSING:
            raise SynparseError(f"{path}: does not exist; {PATHS_AS_GIVEN.format(option)}")


def texts_of(requested: Sequence[Text], stored: Sequence[Text]) -> tuple[Text, ...]:
    """The ``requested`` texts, else the ``stored`` ones. Raises SynparseError if a stored path has no file."""
    if requested:
        return tuple(requested)
    try:
        files_of([path for path in stored if isinstance(path, str) and not is_corpus(path)])
    except SynparseError as error:
        raise SynparseError(f"{error}; {PATHS_AS_GIVEN.format('TEXT (and --dev)')}") from None
    return tuple(stored)


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
