"""Preparation of a training run: from a request to the data, the model and the folder that a trainer needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from induce.data.corpus import Text
from induce.data.vocabulary import TOKENS, Vocabulary
from induce.data.word_classes import choose_vocabulary, joining_of
from induce.decoding.specification import check_priors, fitting_decoder, parse_priors
from induce.models.capabilities import EdgeCounting
from induce.registry import check_loader
from induce.settings.run import RunConfig, decodable, entry_of, kind_of, model_settings
from induce.storage.checkpoint import RunFacts, TextFacts
from induce.storage.model_file import RESUME
from induce.storage.outputs import RunLock, check_free, clear, has_begun, remove_leftovers, resumable
from induce.training.corpora import RunData, load_run_data
from induce.training.request import RunRequest, Stop, continued, resolved_config
from treebank.base.arguments import ignore
from treebank.base.errors import SynparseError, UsageError

MIN_WORDS = 20  # of training text

if TYPE_CHECKING:
    from induce.data.corpus import TrainingData
    from induce.data.loaders import Loader
    from induce.models.base import Model
    from induce.storage.checkpoint import Checkpoint
    from induce.training.learners import SingleProcess
    from induce.training.loop import Trainer
    from induce.training.state import Run


def load_data(request: RunRequest, report: Callable[[str], None] = ignore, stop: Stop = lambda: False) -> RunData:
    """The data of a new or resumed run. Its folder stays as it is.

    Raises KeyboardInterrupt if ``stop`` returns true while a teacher parses the text.
    """
    from induce.training.learners import ALONE

    _, config, request = _plan(request, report, ALONE)
    return load_run_data(config, request, stop)


def prepare_run(
    request: RunRequest,
    report: Callable[[str], None] = ignore,
    data: RunData | None = None,
    group: SingleProcess | None = None,
) -> Trainer:
    """The trainer of a new or resumed run. ``report`` is called with notes for the user.

    Errors of settings and options are raised before any text is read, and the folder of a new run is touched after
    everything else is known to be correct. The trainer holds the lock of the folder until it has trained. ``data``
    saves reading the text again. Each process of a ``group``, by default that in which this one was started, prepares
    the same run; the first one writes the folder.

    Raises SynparseError for invalid settings, data or folders.
    """
    from induce.training.learners import join_group
    from induce.training.loop import Trainer

    folder, group = Path(request.run), group or join_group(request.device)
    report = report if group.first else ignore
    lock = RunLock(folder) if group.first and request.resume and resumable(folder) else None
    if lock:
        remove_leftovers(folder)
    group.wait()
    checkpoint, config, request = _plan(request, report, group)
    data = data or load_run_data(config, request)
    run = make_run(
        config,
        data.training,
        data.development,
        folder,
        device=data.device,
        facts=data.facts,
        resume=checkpoint is not None,
        group=group,
    )
    if group.first and lock is None:
        lock = RunLock(folder)
        check_free(folder, overwrite=request.overwrite)  # again, in case another training has begun meanwhile
        clear(folder)
    run.lock = lock
    for line in () if checkpoint else data.notes:
        report(line)
    return Trainer(run)


def make_run(
    config: RunConfig,
    training: TrainingData,
    development: TrainingData,
    folder: Path,
    *,
    device: str,
    facts: RunFacts | None = None,
    resume: bool = False,
    group: SingleProcess | None = None,
) -> Run:
    """A run on ``training`` and ``development``, data of the same type.

    With ``resume`` it continues from the state in ``folder``. Raises SynparseError if settings and data do not fit.
    """
    from induce.storage import checkpoint as store
    from induce.training.learners import ALONE
    from induce.training.position import Position
    from induce.training.state import Run, restore, seed_everything

    group = group or ALONE
    check_fits(config)
    check_enough(config, training, facts.texts if facts else ())
    checkpoint = store.read(store.find(folder, (RESUME,))) if resume else None
    rng = seed_everything(config.train.seed)
    texts = _encode(config, training, development, checkpoint)
    model = _build(config, len(texts.vocabulary), device, f"{checkpoint.path}: " if checkpoint else "")
    held_out = _loader(config, texts.held_out, device, held_out=True)
    run = Run(
        folder=folder,
        config=config,
        device=device,
        group=group,
        training=training,
        development=texts.development,
        vocabulary=texts.vocabulary,
        corpus=texts.corpus,
        loader=_loader(config, texts.corpus, device),
        held_out=held_out,
        facts=_with_texts(facts or RunFacts(), config, training, texts),
        model=model,
        strategy=group.strategy(config.train.precision, model, held_out),
        rng=rng,
        position=Position(),
        matrix_library=checkpoint.facts.matrix_library if checkpoint else "",
        resumed=resume,
    )
    if checkpoint:
        restore(run, checkpoint)
    return run


def _build(config: RunConfig, vocabulary_size: int, device: str, where: str) -> Model:
    """The untrained model. Raises SynparseError, beginning with ``where``, if its settings do not fit together."""
    from induce.models.build import make_model

    try:
        return make_model(config, vocabulary_size).to(device)
    except (TypeError, ValueError, SynparseError) as error:
        raise SynparseError(f"{where}{error}") from None


class EncodedTexts(NamedTuple):
    """Texts of a run as word indices."""

    vocabulary: Vocabulary
    joining: list[str]  # punctuation marks that join words
    corpus: Any  # the training text
    development: TrainingData  # before it is encoded
    held_out: Any  # the development text


def _encode(
    config: RunConfig, training: TrainingData, development: TrainingData, checkpoint: Checkpoint | None
) -> EncodedTexts:
    """The texts with the vocabulary of ``checkpoint``, or with a new one. Empty development text is replaced."""
    if checkpoint:
        vocabulary, joining = checkpoint.vocabulary, list(checkpoint.facts.joining)
    else:
        vocabulary, joining = choose_vocabulary(training, config.data), joining_of(training, config.data)
    corpus = training.encode(vocabulary, joining)
    if not development.words:
        return EncodedTexts(vocabulary, joining, corpus, training, corpus)
    return EncodedTexts(vocabulary, joining, corpus, development, development.encode(vocabulary, joining))


def _with_texts(facts: RunFacts, config: RunConfig, training: TrainingData, texts: EncodedTexts) -> RunFacts:
    """``facts`` with those about the texts, for the checkpoint."""
    from induce.decoding.branching_direction import estimate_direction

    sizes = [
        TextFacts(sentences=text.sentences, words=text.words, sha256=text.sha256)
        for text in (training, texts.development)
    ]
    facts = replace(facts, training=sizes[0], development=sizes[1], joining=tuple(texts.joining))
    if isinstance(training, Text) and config.data.token != "character":
        return replace(facts, direction=estimate_direction(training))
    return facts


def _loader(config: RunConfig, corpus: Any, device: str, *, held_out: bool = False) -> Loader:
    """The loader of an encoded text."""
    from induce.registry import LOADERS, load

    kind, epochs = load(LOADERS.get(config.loader_name).location), config.train.epochs
    return kind(corpus, config.loader, device=device, epochs=epochs, held_out=held_out)


def _plan(
    request: RunRequest, report: Callable[[str], None], group: SingleProcess
) -> tuple[Checkpoint | None, RunConfig, RunRequest]:
    """The checkpoint of a resumed run, the settings, and the complete request, after all checks that need no text."""
    from induce.storage.checkpoint import find, read

    folder, stored = Path(request.run), None
    if request.resume and has_begun(folder):
        stored = read(find(folder, (RESUME,)))
    elif request.resume and not request.text:
        raise SynparseError(f"{folder}: there is no run to resume; to begin one, leave out --resume")
    elif request.resume:
        report(f"{folder}: nothing to resume, so training starts from the beginning")
    config, request = continued(stored, request) if stored else (resolved_config(request), request)
    request.check(config)
    if group.size > 1 and "-" in (*request.text, *request.dev):
        raise SynparseError("standard input can be read by one process alone; give the text as a file")
    if stored is None:
        check_fits(config)
        if group.first:
            check_free(folder, overwrite=request.overwrite)
            request.check_output(config)
        if config.data.vocabulary:
            Vocabulary.from_list(config.data.vocabulary)
    else:
        try:
            check_fits(config)
        except SynparseError as error:
            raise SynparseError(f"{stored.path}: {error}") from None
    return stored, config, request


def check_fits(config: RunConfig) -> None:
    """Raises SynparseError if settings, model, reading and decoder do not fit together. Reads no text."""
    from induce.models.base import FittedModel
    from induce.models.build import class_of

    kind = kind_of(config)
    model_settings(kind.Config, config.model, config.model_name)
    check_loader(config.model_name, class_of(config).reads, config.loader_name)
    by_gradients = not issubclass(kind, FittedModel)
    if by_gradients == (config.optimizer_name == "none"):
        need = "an optimizer" if by_gradients else "optimizer.name=none"
        raise UsageError(f"optimizer.name={config.optimizer_name}: model {config.model_name!r} needs {need}")
    if config.train.precision != "float32" and not kind.rounds:
        raise UsageError(f"model {config.model_name!r} learns in float32 only; leave out train.precision")
    config.task.check_run(config)
    if kind.gives:
        fitting_decoder(config.model_name, kind.gives, config.parse.decoder)
    if structures := decodable(config):
        check_priors(parse_priors(config.parse.priors), structures, has_counts=issubclass(kind, EdgeCounting))


def check_enough(config: RunConfig, training: TrainingData, texts: Sequence[str]) -> None:
    """Raises SynparseError if there is too little text, or if trees are missing or cannot be learned from."""
    if training.words < MIN_WORDS:
        names = ["standard input" if text == "-" else text for text in texts]
        where = " ".join(names) or "the training text"
        remedy = "; pipe the text in, also with --resume" if "-" in texts else ""
        size = f"{training.words} {config.data.token if training.words == 1 else TOKENS[config.data.token]}"
        useful = "" if config.task_name else ", and about 100,000 for useful trees"
        raise SynparseError(
            f"{where}: {size} to learn from after normalization {config.data.normalization!r}; "
            f"at least {MIN_WORDS} are needed{useful}{remedy}"
        )
    if training.has_trees != entry_of(config).learns_trees:
        problem = "learns no trees" if training.has_trees else "learns from trees, and the training text has none"
        raise SynparseError(f"model {config.model_name!r} {problem}")
