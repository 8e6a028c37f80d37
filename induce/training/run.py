"""From settings and texts to a run's folder and the trainer that fills it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from induce.config import RunConfig, entry_of
from induce.data.corpus_checks import Watch
from induce.data.prepared import PreparedText
from induce.data.sources import Sources, Text, load_corpora, load_trees, prepared_rule
from induce.data.tokens import leaf
from induce.data.vocabulary import Vocabulary
from induce.settings import changed, resolve
from induce.storage.folders import whole
from induce.storage.lock import RunLock
from induce.storage.run_folder import check_free, clear, resumable, settle_run
from induce.training.process_group import ALONE, ProcessGroup, join
from treebank.base.errors import SynparseError
from treebank.io.read import DEFAULT_INPUT, InputOptions
from treebank.tokenize import NONE

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus
    from induce.storage.checkpoint import Checkpoint
    from induce.training.loop import Trainer
    from treebank.core.sentence import Treebank

CHANGEABLE = ("train.epochs", "train.learning_rate")  # when a run goes on
Stop = Callable[[], bool]


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What a user asks for when a model is to be trained; None and empty stand for the default."""

    run: str
    text: Sequence[Text] = ()
    dev: Sequence[Text] = ()
    trees: str | None = None
    input_options: InputOptions = DEFAULT_INPUT
    focus: Sequence[str] = ()
    model: str | None = None
    preset: str | None = None
    settings: Sequence[str] = ()
    task: str = ""
    seed: int | None = None
    resume: bool = False
    overwrite: bool = False
    device: str = "auto"

    @property
    def sources(self) -> Sources:
        """The data that was named."""
        return Sources(tuple(self.text), tuple(self.dev), self.trees, self.input_options, tuple(self.focus))

    @property
    def changes(self) -> list[str]:
        """All ``table.key=value``; a rule that splits text counts as the first one, a seed as the last."""
        rule = self.input_options.tokenize or prepared_rule(self.text)
        first = [f"data.tokenization={rule.removesuffix(NONE)}"] if rule else []
        return [*first, *self.settings, *([] if self.seed is None else [f"train.seed={self.seed}"])]


@dataclass(frozen=True)
class RunData:
    """What a run learns from, in memory."""

    training: Any  # a `Corpus`, or `Examples` of a task
    development: Any
    facts: dict[str, Any]  # what a checkpoint says of them
    config: RunConfig
    device: str
    notes: Sequence[str]  # what a user should know of the text

    def encode(self) -> EncodedCorpus:
        """The training text, not that of a task, with the final numbers of words, so that several runs share them."""
        from induce.data.vocabulary_choice import choose_vocabulary, encode, joining_of

        words, joining = choose_vocabulary(self.training, self.config.data), joining_of(self.training, self.config.data)
        if self.development.words:
            encode(self.development, words, joining)
        encoded: EncodedCorpus = encode(self.training, words, joining)
        return encoded


def load_data(
    request: RunRequest, tell: Callable[[str], None] = lambda line: None, stop: Stop = lambda: False
) -> RunData:
    """The data of a run, new or resumed, without touching its folder. Raises KeyboardInterrupt where ``stop`` says so
    while a text is parsed for it."""
    _, config, sources = _planned(request, tell, ALONE)
    return _load(config, sources, request.device, stop)


def prepare_run(
    request: RunRequest,
    tell: Callable[[str], None] = lambda line: None,
    data: RunData | None = None,
    group: ProcessGroup | None = None,
) -> Trainer:
    """The trainer of a run, new or resumed. What cannot work is refused before any text is read, and a new run's folder
    is touched only when everything else is known to be right; ``tell`` hears what a user should know. The trainer holds
    the lock of the folder until it has trained, or is no more.

    ``data`` is what it learns from, where that is in memory already. Of a ``group`` of processes, by default that in
    which this one was started, each prepares the same run, and the first has the folder. Raises SynparseError for
    settings, data or a folder that will not do.
    """
    folder, group = Path(request.run), group or join(request.device)
    tell = tell if group.first else lambda line: None
    lock = RunLock(folder) if group.first and request.resume and resumable(folder) else None
    if lock:
        settle_run(folder)
    group.wait()
    stored, config, sources = _planned(request, tell, group)
    data = data or _load(config, sources, request.device)
    from induce.training.loop import Trainer

    resume = stored is not None
    trainer = Trainer(
        config,
        data.training,
        data.development,
        folder,
        device=data.device,
        facts=data.facts,
        resume=resume,
        group=group,
    )
    if group.first and lock is None:
        lock = RunLock(folder)
        check_free(folder, overwrite=request.overwrite)  # again: another training may have begun meanwhile
        clear(folder)
    trainer.lock = lock
    if stored is None:
        for line in data.notes:
            tell(line)
    return trainer


def _planned(
    request: RunRequest, tell: Callable[[str], None], group: ProcessGroup
) -> tuple[Checkpoint | None, RunConfig, Sources]:
    """The state to go on from, if there is one, and settings and sources that fit together and the folder."""
    folder = Path(request.run)
    stored = _stored(folder, request, tell) if request.resume else None
    config, sources = _continued(stored, request) if stored else (resolved_config(request), request.sources)
    sources.check(config)
    if group.size > 1 and "-" in (*sources.text, *sources.dev):
        raise SynparseError("standard input can be read by one process alone; give the text as a file")
    from induce.training.compatibility import check_fits

    if stored is None:
        check_fits(config)
        if group.first:
            check_free(folder, overwrite=request.overwrite)
        if config.data.vocabulary:
            Vocabulary.from_list(config.data.vocabulary)
    else:
        with _in_folder(stored.folder):
            check_fits(config)
    return stored, config, sources


def _load(config: RunConfig, sources: Sources, device: str, stop: Stop = lambda: False) -> RunData:
    """Texts and trees in memory."""
    from induce.parsing.load import choose_device
    from induce.training.teacher import PARSED, is_teacher, taught

    by_teacher = is_teacher(sources.trees)
    if by_teacher:
        treebank: Treebank | None = taught(sources, config.data.tokenization, device=device)
        given = replace(sources, text=())  # the text comes with its trees
    else:
        treebank, given = load_trees(config, sources), sources
    from induce.training.focus import check_development, focus_kind, head_references_of, references_of

    output = entry_of(config).focus or "trees"
    if entry_of(config).needs_focus and (sources.dev or sources.sample):
        check_development(sources.focus)
    refer = head_references_of if output == "heads" else references_of
    references = _stoppable(refer(sources.focus, device=device), stop) if sources.focus else None
    watch = Watch()
    training, development = load_corpora(config, given, treebank, references, watch)
    facts = sources.facts(treebank, config)
    if by_teacher:
        facts["trees"]["kind"] = PARSED
    if watch.health.sentences:
        facts["health"] = watch.health.to_json()
    if sources.focus:
        facts["focus_kind"] = focus_kind(sources.focus, output)
    notes = list(watch.health.report(token=leaf(config.data.token))) if watch.health.sentences else []
    if isinstance(training, PreparedText):
        facts["health"], notes = training.corpus.facts["health"], training.corpus.facts["notes"]
    return RunData(training, development, facts, config, choose_device(device), notes)


def _stoppable(references: Callable[[Any], Iterator[Any]], stop: Stop) -> Callable[[Any], Iterator[Any]]:
    """The same references, until ``stop`` says so."""

    def until_then(sentences: Any) -> Iterator[Any]:
        for reference in references(sentences):
            if stop():
                raise KeyboardInterrupt
            yield reference

    return until_then


@contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    """Says of an error that it is about what ``folder`` holds."""
    try:
        yield
    except SynparseError as error:
        raise SynparseError(f"{folder}: {error}") from None


def resolved_config(request: RunRequest) -> RunConfig:
    """The settings of a run that begins. Raises SynparseError for names and values that are not there."""
    sample = request.sources.sample
    return resolve(
        model=request.model, preset=request.preset, settings=request.changes, sample=sample, task=request.task
    )


def _stored(folder: Path, request: RunRequest, tell: Callable[[str], None]) -> Checkpoint | None:
    """The state to go on from; None, and a word to the user, if there is none and the request names a text."""
    from induce.storage.checkpoint import find, read

    if resumable(folder):
        return read(find(folder, ("last",)))
    if whole(folder / "best"):
        raise SynparseError(f"{folder}: holds a model but no state to go on from; train anew with --overwrite")
    if not request.text:
        raise SynparseError(f"{folder}: there is no run to go on with; to begin one, leave out --resume")
    tell(f"{folder}: nothing to resume, so training starts from the beginning")
    return None


def _continued(checkpoint: Checkpoint, request: RunRequest) -> tuple[RunConfig, Sources]:
    """Settings and data of a run that goes on. Only how long and how fast to train may change."""
    if "transfer" in checkpoint.facts:
        raise SynparseError(f"{request.run}: go on with: synparse transfer --resume -o {request.run}")
    config = checkpoint.config
    if not _asks_for(request, config):
        _check_unchanged(request, config)
        config = changed(config, request.settings)
    facts = checkpoint.facts
    sources = Sources(
        tuple(request.text) or tuple(facts.get("texts", ())),
        tuple(request.dev) or tuple(facts.get("development_texts", ())),
        request.trees or facts.get("trees", {}).get("name"),
        _reading_of(facts, request.input_options),
        tuple(request.focus) or tuple(facts.get("focus", ())),
    )
    return config, sources


def _asks_for(request: RunRequest, config: RunConfig) -> bool:
    """Whether a new run would have these settings, so that the call that began a run can go on with it."""
    try:
        return resolved_config(request).as_dict() == config.as_dict()
    except SynparseError:
        return False


def _check_unchanged(request: RunRequest, config: RunConfig) -> None:
    """Raises UnchangeableError for an option that changes what a run has to keep."""
    given = {"model": request.model, "preset": request.preset, "seed": request.seed, "task": request.task or None}
    for name, value in given.items():
        if value is not None:
            raise UnchangeableError(f"--{name} cannot change on --resume: the run keeps its settings")
    if request.input_options.tokenize not in ("", config.data.tokenization):
        raise UnchangeableError("--tokenization cannot change on --resume: the run keeps its settings")
    for change in request.settings:
        if change.partition("=")[0].strip() not in CHANGEABLE:
            raise UnchangeableError(f"--set {change}: on --resume only {' and '.join(CHANGEABLE)} can change")


def _reading_of(facts: Mapping[str, Any], given: InputOptions) -> InputOptions:
    """How the text of a run that goes on is read: as it was, unless something else is given now."""
    return replace(
        given,
        paragraphs=given.paragraphs or bool(facts.get("paragraphs")),
        form=given.form or str(facts.get("form", "")),
        encoding=given.encoding or str(facts.get("encoding", "")),
    )


class UnchangeableError(SynparseError):
    """An option that a resumed run cannot take."""
