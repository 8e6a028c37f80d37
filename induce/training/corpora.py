"""Text, trees and teachers of a training run, in memory, and prepared corpora on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Any

from induce.data.corpus import Reference, read_corpora
from induce.data.corpus_checks import Watch
from induce.data.prepared import PreparedCorpus, PreparedText, prepare
from induce.data.vocabulary import leaf
from induce.data.word_classes import choose_vocabulary, joining_of
from induce.device import choose_device
from induce.registry import TASKS, load, teacher_entry
from induce.settings.presets import resolve
from induce.settings.run import RunConfig, entry_of
from induce.storage.checkpoint import RunFacts, TreesFacts
from induce.storage.outputs import check_new_folder
from induce.training.request import RunRequest, Stop, is_corpus, names_of, read_text
from treebank.base.errors import SynparseError
from treebank.core.baselines import BASELINES
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree
from treebank.corpora.catalog import SAMPLE, is_name, load_gold
from treebank.corpora.sample import sample_treebank
from treebank.io.read import DEFAULT_INPUT, InputOptions
from treebank.tokenize import NONE

if TYPE_CHECKING:
    from induce.data.corpus import TrainingData
    from induce.data.settings import DataConfig
    from treebank.core.sentence import Treebank

SAMPLE_NOTE = "the built-in sample, which a grammar generated; its scores say nothing about natural language"
References = Callable[[Iterable[Sentence]], Iterator[Reference]]


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
        vocabulary = choose_vocabulary(self.training, self.config.data)
        joining = joining_of(self.training, self.config.data)
        if self.development.words:
            self.development.encode(vocabulary, joining)
        return self.training.encode(vocabulary, joining)


def load_run_data(config: RunConfig, request: RunRequest, stop: Stop = lambda: False) -> RunData:
    """Texts and trees in memory. Raises KeyboardInterrupt if ``stop`` returns true while a teacher parses the text."""
    if config.task_name:
        texts = names_of(request.text), names_of(request.dev)
        training, development = load(TASKS.get(config.task_name).examples)(config, *texts)
        return RunData(training, development, _facts(request, None, ""), config, choose_device(request.device), ())
    treebank, references, remaining, annotation = load_trees(config, request), None, request, ""
    if request.teachers:
        supervision = load(teacher_entry(request.teachers).supervise)(request, config)
        annotation = supervision.annotation
        if supervision.treebank:
            treebank, remaining = supervision.treebank, replace(request, text=())  # the text comes with its trees
        else:
            references = _stoppable(supervision.references, stop)
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


def _stoppable(references: Callable[[Any], Iterator[Any]], stop: Stop) -> Callable[[Any], Iterator[Any]]:
    """``references`` that raise KeyboardInterrupt once ``stop`` returns true."""

    def until_stopped(sentences: Any) -> Iterator[Any]:
        for reference in references(sentences):
            if stop():
                raise KeyboardInterrupt
            yield reference

    return until_stopped


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
    sentences = _training(config, request, treebank, sample, options)
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
    if request.dev and not development.words:
        raise SynparseError(f"{' '.join(names_of(request.dev))}: the development text holds no words")
    return training, development


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
    return training, read_corpora(
        read_text(request.dev, options, part="dev"), data.normalization, token=leaf(data.token)
    )[0]


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


def _training(
    config: RunConfig, request: RunRequest, treebank: Treebank | None, sample: bool, options: InputOptions
) -> Iterable[Sentence]:
    """Training sentences: those of the text, without trees, followed by those of ``treebank``."""
    if treebank is None:
        text: Iterable[Sentence] = sample_treebank("train").sentences if sample else read_text(request.text, options)
        return spread(text, config.data.text_share)
    plain = spread(read_text(request.text, options), config.data.text_share)
    annotated = supervised(treebank.sentences, config.data, seed=config.train.seed)
    return chain((replace(sentence, tree=None) for sentence in plain), annotated)


def in_share(index: int, share: float) -> bool:
    """Whether sentence ``index``, from 1, is in an evenly spread ``share`` of a text."""
    return int(index * share) > int((index - 1) * share)


def spread(sentences: Iterable[Sentence], share: float) -> Iterator[Sentence]:
    """An evenly spread ``share`` of the sentences."""
    return (sentence for index, sentence in enumerate(sentences, start=1) if in_share(index, share))


def supervised(sentences: Sequence[Sentence], config: DataConfig, *, seed: int) -> Iterator[Sentence]:
    """Sentences of a treebank, an evenly spread ``tree_share`` of them with trees.

    With ``trees = "random"`` each of these trees is replaced by a random binary tree (Du et al. 2020, table 4).
    """
    generator, build = Random(seed), BASELINES["random"]
    for index, sentence in enumerate(sentences, start=1):
        tree = sentence.tree
        if not in_share(index, config.tree_share):
            tree = None
        elif tree is not None and config.trees == "random":
            gold = tree.without_traces()
            tree = Tree.from_spans(gold.words, build(gold, generator))
        yield replace(sentence, tree=tree)
