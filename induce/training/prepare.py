"""Preparation of a training run: from a request to the data, the model and the folder that a trainer needs.

`prepare_run` checks the request, reads the texts (`load_run_data`), and makes the run (`make_run`). A run that is
resumed takes its settings, its vocabulary and its state from the file ``resume.safetensors``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from induce.data.corpus import Reference, Text, TrainingData, read_corpora, unknown_share
from induce.data.corpus_checks import Watch
from induce.data.prepared import PreparedCorpus, PreparedText, prepare
from induce.data.vocabulary import TOKENS, Vocabulary, leaf
from induce.data.word_classes import class_vocabulary
from induce.decoding.branching_direction import estimate_direction
from induce.registry import LOADERS, PURPOSES, choose_device, load, teacher_entry
from induce.settings.presets import resolve
from induce.settings.run import DataConfig, RunConfig, entry_of
from induce.storage.checkpoint import Checkpoint, RunFacts, TextFacts, TreesFacts, find, read
from induce.storage.model_file import RESUME
from induce.storage.outputs import RunLock, check_free, check_new_folder, clear, has_begun, remove_leftovers, resumable
from induce.training.request import RunRequest, Stop, continued, is_corpus, names_of, read_text, resolved_config
from treebank.base.arguments import ignore
from treebank.base.errors import SynparseError
from treebank.core.baselines import BASELINES
from treebank.core.sentence import Sentence, Treebank
from treebank.core.tree import Tree
from treebank.corpora.catalog import SAMPLE, is_name, load_gold
from treebank.corpora.sample import sample_treebank
from treebank.io.read import DEFAULT_INPUT, InputOptions
from treebank.tokenize import NONE

if TYPE_CHECKING:
    from induce.data.loaders import Loader
    from induce.training.learners import SingleProcess
    from induce.training.loop import Trainer
    from induce.training.state import Run

MIN_WORDS = 20  # of training text
SAMPLE_NOTE = "the built-in sample, which a grammar generated; its scores say nothing about natural language"
References = Callable[[Iterable[Sentence]], Iterator[Reference]]


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
    from induce.models.base import check_fits, make_model
    from induce.training.learners import ALONE
    from induce.training.state import Run, restore, seed_everything

    group = group or ALONE
    check_fits(config)
    check_enough(config, training, facts.texts if facts else ())
    checkpoint = read(find(folder, (RESUME,))) if resume else None
    rng = seed_everything(config.train.seed)
    texts = EncodedTexts.encode(config, training, development, checkpoint)
    with _settings_of(checkpoint):
        model = make_model(config, len(texts.vocabulary)).to(device)
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
        facts=texts.described(facts or RunFacts(), config, training),
        model=model,
        strategy=group.strategy(config.train.precision, model, held_out),
        rng=rng,
        matrix_library=checkpoint.facts.matrix_library if checkpoint else "",
        resumed=resume,
    )
    if checkpoint:
        restore(run, checkpoint)
    return run


@contextmanager
def _settings_of(checkpoint: Checkpoint | None) -> Iterator[None]:
    """Report settings that do not fit together within the block as an error, in ``checkpoint`` if they are stored."""
    try:
        yield
    except (TypeError, ValueError, SynparseError) as error:
        if checkpoint is None and isinstance(error, SynparseError):
            raise
        raise SynparseError(f"{checkpoint.path}: {error}" if checkpoint else str(error)) from None


def _loader(config: RunConfig, corpus: Any, device: str, *, held_out: bool = False) -> Loader:
    """The loader of an encoded text."""
    kind, epochs = load(LOADERS.get(config.loader_name).location), config.train.epochs
    return kind(corpus, config.loader, device=device, epochs=epochs, held_out=held_out)


def _plan(
    request: RunRequest, report: Callable[[str], None], group: SingleProcess
) -> tuple[Checkpoint | None, RunConfig, RunRequest]:
    """The checkpoint of a resumed run, the settings, and the complete request, after all checks that need no text."""
    from induce.models.base import check_fits

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
    with _settings_of(stored):
        check_fits(config)
    if stored is None and group.first:
        check_free(folder, overwrite=request.overwrite)
        request.check_output(config)
    if stored is None and config.data.vocabulary:
        Vocabulary.from_list(config.data.vocabulary)
    return stored, config, request


def check_enough(config: RunConfig, training: TrainingData, texts: Sequence[str]) -> None:
    """Raises SynparseError if there is too little text, or if trees are missing or cannot be learned from."""
    if training.words < MIN_WORDS:
        names = ["standard input" if text == "-" else text for text in texts]
        where = " ".join(names) or "the training text"
        remedy = "; pipe the text in, also with --resume" if "-" in texts else ""
        size = f"{training.words} {config.data.token if training.words == 1 else TOKENS[config.data.token]}"
        recipe = f" after normalization {config.data.normalization!r}" if training.words else ""
        useful = "" if config.purpose_name else ", and thousands for useful trees"
        raise SynparseError(f"{where}: {size} to learn from{recipe}; at least {MIN_WORDS} are needed{useful}{remedy}")
    if training.has_trees != entry_of(config).learns_trees:
        problem = "learns no trees" if training.has_trees else "learns from trees, and the training text has none"
        raise SynparseError(f"model {config.model_name!r} {problem}")


def choose_vocabulary(text: TrainingData, data: DataConfig) -> Vocabulary:
    """Vocabulary of a run: the file ``data.vocabulary``, the frequent words of the training ``text``, or classes."""
    size, minimum_count = data.vocabulary_size, data.minimum_count
    if data.token == "class" and isinstance(text, Text):
        return class_vocabulary(text, classes=data.classes, size=size, minimum_count=minimum_count)
    if data.vocabulary:
        return Vocabulary.from_list(data.vocabulary)
    return text.vocabulary(size, minimum_count, data.unknown)


class EncodedTexts(NamedTuple):
    """Texts of a run as word indices."""

    vocabulary: Vocabulary
    joining: list[str]  # punctuation marks that join words
    corpus: Any  # the training text
    development: TrainingData  # before it is encoded
    held_out: Any  # the development text

    @classmethod
    def encode(
        cls, config: RunConfig, training: TrainingData, development: TrainingData, checkpoint: Checkpoint | None = None
    ) -> EncodedTexts:
        """The texts with the vocabulary of ``checkpoint``, or with a new one. Empty development text is replaced."""
        if checkpoint:
            vocabulary, joining = checkpoint.vocabulary, list(checkpoint.facts.joining)
        else:
            vocabulary = choose_vocabulary(training, config.data)
            joining = list(training.joining) if config.data.joining_marks else []
        corpus = training.encode(vocabulary, joining)
        if not development.words:
            return cls(vocabulary, joining, corpus, training, corpus)
        return cls(vocabulary, joining, corpus, development, development.encode(vocabulary, joining))

    def described(self, facts: RunFacts, config: RunConfig, training: TrainingData) -> RunFacts:
        """``facts`` with those about the texts, for the checkpoint."""
        sizes = [
            TextFacts(sentences=text.sentences, words=text.words, sha256=text.sha256)
            for text in (training, self.development)
        ]
        share = unknown_share(training.word_counts(), self.vocabulary)
        facts = replace(
            facts, training=sizes[0], development=sizes[1], joining=tuple(self.joining), unknown_share=share
        )
        if isinstance(training, Text) and config.data.token != "character":
            return replace(facts, direction=estimate_direction(training))
        return facts


@dataclass(frozen=True)
class Supervision:
    """Structures that a model learns besides the words: from ``references``, or from the text with its trees."""

    annotation: str  # type of the structures, for the facts of the run
    references: References | None = None
    treebank: Treebank | None = None


@dataclass(frozen=True)
class RunData:
    """Text of a run in memory, before it is encoded."""

    training: TrainingData
    development: TrainingData
    facts: RunFacts
    config: RunConfig
    device: str
    notes: Sequence[str]  # remarks on the text for the user

    def encode(self) -> Any:
        """The training text as word indices. Several runs then share its memory."""
        return EncodedTexts.encode(self.config, self.training, self.development).corpus


def load_run_data(config: RunConfig, request: RunRequest, stop: Stop = lambda: False) -> RunData:
    """Texts and trees in memory. Raises KeyboardInterrupt if ``stop`` returns true while a teacher parses the text."""
    if examples := PURPOSES.get(config.purpose_name).examples:
        training, development = load(examples)(config, names_of(request.text), names_of(request.dev))
        return RunData(training, development, _facts(request, None, ""), config, choose_device(request.device), ())
    treebank, remaining, annotation = load_trees(config, request), request, ""
    references: References | None = None
    if request.teachers:
        supervision = load(teacher_entry(request.teachers).supervise)(request, config)
        annotation = supervision.annotation
        if supervision.treebank:
            treebank, remaining = supervision.treebank, replace(request, text=())  # the text comes with its trees
        else:

            def references(sentences: Any) -> Iterator[Any]:
                for reference in supervision.references(sentences):
                    if stop():
                        raise KeyboardInterrupt
                    yield reference

    watch = Watch()
    training, development = load_corpora(config, remaining, treebank, references, watch)
    facts = replace(_facts(request, None if annotation else treebank, config.data.trees), annotation=annotation)
    health, notes = watch.health, [SAMPLE_NOTE] if request.sample else []
    if health.sentences:
        facts = replace(facts, health=health.to_json())
        notes += health.report(token=leaf(config.data.token), model=config.model_name)
    if isinstance(training, PreparedText):
        facts, notes = replace(facts, health=training.corpus.facts.health), list(training.corpus.facts.notes)
    return RunData(training, development, facts, config, choose_device(request.device), notes)


def _facts(request: RunRequest, treebank: Treebank | None, trees: str) -> RunFacts:
    """Facts about the data of a run. ``trees`` is the type of the trees of ``treebank``."""
    name = request.trees or "sample"
    about = TreesFacts(name=name, note=treebank.note, kind=trees, sentences=len(treebank)) if treebank else None
    return RunFacts(
        texts=tuple(names_of(request.text)),
        development_texts=tuple(names_of(request.dev)),
        paragraphs=request.input_options.paragraphs,
        form=request.input_options.form,
        encoding=request.input_options.encoding,
        teachers=request.teachers,
        trees=about,
    )


def load_trees(config: RunConfig, request: RunRequest) -> Treebank | None:
    """Treebank that the model learns trees from, or None if it does not.

    Without text and trees, this is the built-in sample. Raises SynparseError for a sentence without a tree.
    """
    if not entry_of(config).learns_trees or request.teachers:
        return None
    if request.sample:
        return sample_treebank("train")
    is_sample = request.trees == SAMPLE and is_name(SAMPLE)
    treebank = sample_treebank("train") if is_sample else load_gold(str(request.trees))
    for sentence in treebank.sentences:
        if sentence.tree is None:
            raise SynparseError(f"{sentence.location}: this sentence has no tree to learn from")
    return treebank


def load_corpora(
    config: RunConfig,
    request: RunRequest,
    treebank: Treebank | None,
    references: References | None = None,
    watch: Watch | None = None,
) -> tuple[TrainingData, TrainingData]:
    """Read and normalize the training text and the development text.

    Annotation in the text is ignored. Models that learn from gold trees use those of ``treebank``. ``references``
    yields the trees or heads of teachers for each sentence. For separate development text, it is called only if the
    model learns from teachers alone. ``watch`` describes the sentences while they are read.
    """
    if any(map(is_corpus, request.text)):
        return _prepared(config, request)
    options = replace(request.input_options, tokenize=config.data.tokenization)
    recipe, token = config.data.normalization, leaf(config.data.token)
    sample = not request.text and (treebank is None or treebank.name == "sample-train")
    share = 0.0 if request.dev or sample else config.data.development_share
    plain: Iterable[Sentence] = read_text(request.text, options)
    sentences: Iterable[Sentence]
    if treebank is None:
        sentences = spread(sample_treebank("train").sentences if sample else plain, config.data.text_share)
    else:  # text without trees, then the treebank
        plain = (replace(sentence, tree=None) for sentence in spread(plain, config.data.text_share))
        sentences = chain(plain, supervised(treebank.sentences, config.data))
    if watch is not None and not sample:
        sentences = watch.sentences(sentences)
    learns = treebank is not None
    training, held_out = read_corpora(
        sentences, recipe, token=token, development_share=share, with_trees=learns, references=references
    )
    if not request.dev and not sample:
        return training, held_out
    sentences = read_text(request.dev, options, part="dev") if request.dev else sample_treebank("dev").sentences
    dev_references = references if entry_of(config).needs_teacher else None
    development, _ = read_corpora(sentences, recipe, token=token, references=dev_references)
    return training, _with_words(development, request)


def _with_words(development: TrainingData, request: RunRequest) -> TrainingData:
    """The ``development`` text. Raises SynparseError if the one that was named has no words."""
    if request.dev and not development.words:
        raise SynparseError(f"{' '.join(names_of(request.dev))}: the development text holds no words")
    return development


def _prepared(config: RunConfig, request: RunRequest) -> tuple[TrainingData, TrainingData]:
    """Training and development part of a corpus on disk, or all of it for training if ``request.dev`` is given."""
    data = config.data
    if data.text_share < 1:
        raise SynparseError(f"{request.text[0]}: a prepared corpus is learned from whole, without data.text_share")
    corpus = PreparedCorpus.read(str(request.text[0]))
    corpus.check(normalization=data.normalization, token=leaf(data.token), tokenization=data.tokenization)
    training, held_out = corpus.split(0.0 if request.dev else data.development_share)
    if not request.dev:
        return training, held_out
    options = replace(request.input_options, tokenize=data.tokenization)
    sentences = read_text(request.dev, options, part="dev")
    development, _ = read_corpora(sentences, data.normalization, token=leaf(data.token))
    return training, _with_words(development, request)


def prepare_text(
    text: Sequence[str],
    folder: str,
    *,
    model: str | None = None,
    preset: str | None = None,
    settings: Sequence[str] = (),
    input_options: InputOptions = DEFAULT_INPUT,
) -> list[str]:
    """Write a text as a corpus on disk for a run with these settings, and return notes for the user."""
    rule = input_options.tokenize.removesuffix(NONE)
    changes = [f"data.tokenization={rule}"] if rule else []
    data = resolve(model=model, preset=preset, settings=[*changes, *settings], sample=False).data
    check_new_folder(folder, inputs=text)
    sentences = read_text(text, replace(input_options, tokenize=data.tokenization))
    facts = prepare(
        sentences,
        folder,
        normalization=data.normalization,
        token=leaf(data.token),
        tokenization=data.tokenization,
        texts=text,
    )
    size = f"{facts.sentences:,} sentences, {facts.words:,} {leaf(data.token)}s, {facts.types:,} different ones"
    return [*facts.notes, f"{folder}: {size}"]


def in_share(index: int, share: float) -> bool:
    """Whether sentence ``index``, from 1, is in an evenly spread ``share`` of a text."""
    return int(index * share) > int((index - 1) * share)


def spread(sentences: Iterable[Sentence], share: float) -> Iterator[Sentence]:
    """An evenly spread ``share`` of the sentences."""
    return (sentence for index, sentence in enumerate(sentences, start=1) if in_share(index, share))


def supervised(sentences: Sequence[Sentence], config: DataConfig) -> Iterator[Sentence]:
    """Sentences of a treebank, an evenly spread ``tree_share`` of them with trees.

    With ``trees = "random"`` each of these trees is replaced by a random binary tree (Du et al. 2020, table 4), the
    same for all seeds of a model, which learn from one text.
    """
    generator, build = Random(1), BASELINES["random"]
    for index, sentence in enumerate(sentences, start=1):
        tree = sentence.tree
        if not in_share(index, config.tree_share):
            tree = None
        elif tree is not None and config.trees == "random":
            gold = tree.without_traces()
            tree = Tree.from_spans(gold.words, build(gold, generator))
        yield replace(sentence, tree=tree)
