"""Data of a training run: text, development text, and trees if the model learns from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, get_args

from induce.data.batches import HeadSupervisedBatch, SpanSupervisedBatch, SpanTargetBatch
from induce.data.prepared import PreparedCorpus, is_prepared, prepare
from induce.data.tokens import leaf
from induce.registry import LOADERS, MODELS, Output
from induce.settings.presets import resolve
from induce.settings.run import RunConfig, entry_of
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence
from treebank.corpora.catalog import load_whole
from treebank.corpora.sample import sample_treebank
from treebank.io.expand import expand
from treebank.io.read import DEFAULT_INPUT, InputOptions, read_sentences
from treebank.tokenize import NONE

if TYPE_CHECKING:
    from induce.data.corpus import Reference
    from induce.data.corpus_checks import Watch
    from treebank.core.sentence import Treebank

References = Callable[[Iterable[Sentence]], Iterator["Reference"]]
OUTPUTS: tuple[Output, ...] = get_args(Output)
Text = str | Sequence[str]  # a path, a pattern, or a sentence as a list of words


@dataclass(frozen=True)
class Sources:
    """Data of a run, as given by the user.

    ``text`` and ``dev`` are paths, or in a program lists of words. Without ``text`` and ``trees``, the run uses the
    built-in sample.
    """

    text: Sequence[Text] = ()
    dev: Sequence[Text] = ()
    trees: str | None = None
    input_options: InputOptions = DEFAULT_INPUT
    teachers: Sequence[str] = ()  # models, or files of trees or heads, that a model learns from

    @property
    def sample(self) -> bool:
        """Whether the run uses the built-in sample."""
        return not self.text and not self.trees

    def check(self, config: RunConfig) -> None:
        """Raise SynparseError if the sources do not suit the model, or if a path does not exist.

        For example, some models learn from trees and others cannot.
        """
        name, learns_trees = config.model_name, entry_of(config).learns_trees
        if self.trees and not learns_trees:
            learners = " and ".join(name for name, entry in MODELS.items() if entry.learns_trees)
            raise SynparseError(f"model {name!r} learns from plain text alone; --trees is for {learners}")
        if self.text and not self.trees and not self.teachers and learns_trees:
            raise SynparseError(
                f"model {name!r} also learns from trees; give them with --trees TREEBANK, or a model with --teacher"
            )
        if self.trees and self.teachers:
            raise SynparseError("--trees and --teacher exclude each other: a model learns from one type of trees")
        self._check_teachers(config)
        prepared = [path for path in self.text if is_prepared(path)]
        if prepared and (len(self.text) > 1 or self.trees or self.teachers or not config.learns_text):
            raise SynparseError(f"{prepared[0]}: a prepared corpus is trained on alone, without other text or trees")
        expand([path for path in (*self.text, *self.dev) if isinstance(path, str) and not is_prepared(path)])

    def _check_teachers(self, config: RunConfig) -> None:
        """Raise SynparseError if a model needs teachers and has none, or has teachers and cannot learn from them."""
        name, entry, reading = config.model_name, entry_of(config), config.loader_name
        if entry.needs_teacher and not self.teachers:
            raise SynparseError(
                f"model {name!r} learns from {entry.teacher_output} of another model; name it with --teacher MODEL"
            )
        if self.teachers and config.data.token == "character":
            raise SynparseError("--teacher is about words; data.token=character has none")
        supervised = {SpanSupervisedBatch, SpanTargetBatch, HeadSupervisedBatch} & set(LOADERS[reading].batches)
        if self.teachers and not entry.learns_trees and not (entry.teacher_output and supervised):
            students = {
                output: ", ".join(key for key, value in MODELS.items() if value.teacher_output == output)
                for output in OUTPUTS
            }
            raise SynparseError(
                f"model {name!r} (loader.name = {reading}) cannot learn from a teacher; "
                f"--teacher is for {students['trees']} (trees), {students['heads']} (heads)"
            )


def names_of(text: Sequence[Text]) -> list[str]:
    """Paths in ``text``, and one name for all lists of words."""
    paths = [path for path in text if isinstance(path, str)]
    return paths if len(paths) == len(text) else [*paths, f"{len(text) - len(paths)} sentences of a program"]


def load_trees(config: RunConfig, sources: Sources) -> Treebank | None:
    """Treebank that the model learns trees from, or None if it does not.

    Without text and trees, this is the built-in sample. Raises SynparseError for a sentence without a tree.
    """
    if not entry_of(config).learns_trees or sources.teachers:
        return None
    if sources.trees in (None, "sample") and not sources.text:
        return sample_treebank("train")
    treebank = sample_treebank("train") if sources.trees == "sample" else load_whole(str(sources.trees))
    for sentence in treebank.sentences:
        if sentence.tree is None:
            raise SynparseError(f"{sentence.place}: this sentence has no tree to learn from")
    return treebank


def load_corpora(
    config: RunConfig,
    sources: Sources,
    treebank: Treebank | None,
    references: References | None = None,
    watch: Watch | None = None,
) -> tuple[Any, Any]:
    """Normalized training and development text.

    The only annotation are the trees of ``treebank``. ``references`` yields the trees or heads of teachers for each
    sentence. For separate development text it is called only if the model learns from teachers alone. ``watch`` counts
    the sentences of the text.
    """
    from induce.data.corpus import read_corpora

    if any(map(is_prepared, sources.text)):
        return _prepared(config, sources)
    options = replace(sources.input_options, tokenize=config.data.tokenization)
    recipe, token = config.data.normalization, leaf(config.data.token)
    sample = not sources.text and (treebank is None or treebank.name == "sample-train")
    share = 0.0 if sources.dev or sample else config.data.development_share
    sentences = _training(config, sources, treebank, sample, options)
    if watch is not None and not sample:
        sentences = watch.sentences(sentences)
    learns = treebank is not None
    training, held_out = read_corpora(
        sentences, recipe, token=token, development_share=share, with_trees=learns, references=references
    )
    dev_references = references if entry_of(config).needs_teacher else None
    if sources.dev:
        development, _ = read_corpora(read_text(sources.dev, options), recipe, token=token, references=dev_references)
        if not development.words:
            raise SynparseError(f"{' '.join(names_of(sources.dev))}: the development text holds no words")
        return training, development
    if sample:
        development, _ = read_corpora(sample_treebank("dev").sentences, recipe, token=token, references=dev_references)
        return training, development
    return training, held_out


def _prepared(config: RunConfig, sources: Sources) -> tuple[Any, Any]:
    """Training and development part of a corpus on disk, or all of it for training if ``sources.dev`` is given."""
    from induce.data.corpus import read_corpora

    data = config.data
    if data.text_share < 1:
        raise SynparseError(f"{sources.text[0]}: a prepared corpus is learned from whole, without data.text_share")
    corpus = PreparedCorpus.read(str(sources.text[0]))
    corpus.check(normalization=data.normalization, token=leaf(data.token), tokenization=data.tokenization)
    training, held_out = corpus.split(0.0 if sources.dev else data.development_share)
    if not sources.dev:
        return training, held_out
    options = replace(sources.input_options, tokenize=data.tokenization)
    return training, read_corpora(read_text(sources.dev, options), data.normalization, token=leaf(data.token))[0]


def prepared_rule(text: Sequence[Text]) -> str:
    """Tokenization rule of a corpus on disk, or an empty string for other text."""
    if not text or not is_prepared(text[0]):
        return ""
    return str(PreparedCorpus.facts_of(str(text[0])).get("tokenization", ""))


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
    sentences = read_text(text, replace(input_options, tokenize=data.tokenization))
    facts = prepare(
        sentences,
        folder,
        normalization=data.normalization,
        token=leaf(data.token),
        tokenization=data.tokenization,
        texts=text,
    )
    size = (
        f"{facts['sentences']:,} sentences, {facts['words']:,} {leaf(data.token)}s, {facts['types']:,} different ones"
    )
    return [*facts["notes"], f"{folder}: {size}"]


def _training(
    config: RunConfig, sources: Sources, treebank: Treebank | None, sample: bool, options: InputOptions
) -> Iterable[Sentence]:
    """Training sentences: those of the text, without trees, followed by those of ``treebank``."""
    from induce.data.supervision import spread, supervised

    if treebank is None:
        text: Iterable[Sentence] = sample_treebank("train").sentences if sample else read_text(sources.text, options)
        return spread(text, config.data.text_share)
    plain = spread(read_text(sources.text, options), config.data.text_share)
    annotated = supervised(treebank.sentences, config.data, seed=config.train.seed)
    return chain((replace(sentence, tree=None) for sentence in plain), annotated)


def read_text(text: Sequence[Text], options: InputOptions = DEFAULT_INPUT) -> Iterator[Sentence]:
    """Sentences of files, followed by those given as lists of words."""
    paths = [path for path in text if isinstance(path, str)]
    if paths:
        yield from read_sentences(paths, input_options=options)
    for words in text:
        if not isinstance(words, str):
            yield words if isinstance(words, Sentence) else Sentence(tuple(words))
