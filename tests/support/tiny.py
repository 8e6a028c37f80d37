"""Small runs for tests: about 100 sentences of a toy language, and models of a few thousand weights."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from induce.data.batches import FragmentBatch
from induce.data.corpus import EncodedCorpus, Reference, TextInMemory, TrainingData, read_corpora
from induce.data.vocabulary import Vocabulary
from induce.registry import MODELS
from induce.settings.presets import changed, resolve
from induce.settings.run import RunConfig
from induce.storage.checkpoint import read
from induce.storage.model_file import MODEL, RESUME
from induce.training.events import Event
from induce.training.loop import Trainer
from induce.training.prepare import make_run
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree

TRAINED = "optimizer.learning_rate=0.03 train.epochs=3 data.minimum_count=1"
SENTENCES = f"loader.batch_size=16 {TRAINED}"
STREAM = f"model.embedding_size=16 loader.batch_size=8 loader.segment_length=8 {TRAINED}"
RECURRENT = f"model.layers=2 model.hidden_size=24 {STREAM}"
ONLSTM = f"model.chunk_size=4 {RECURRENT}"
PRPN = f"model.embedding_size=16 model.hidden_size=24 model.slots=5 model.lookback=2 {SENTENCES}"
RNNG = (
    "model.embedding_size=16 model.layers=1 model.inference_size=8 model.scoring_samples=10 model.particles=20 "
    f"loader.batch_words=120 {TRAINED}"
)
WORDS = f"model.embedding_size=16 loader.batch_words=128 {TRAINED}"
TRANSFORMER = f"model.heads=2 model.layers=2 model.feedforward_size=32 {WORDS}"
GRAMMAR = f"model.embedding_size=12 loader.batch_words=120 {TRAINED}"
PCFG = f"model.nonterminals=4 model.preterminals=8 {GRAMMAR}"
COUNTED = "data.normalization=words data.development_share=0.05 data.minimum_count=1"
NDMV = f"model.classes=6 loader.batch_words=120 {TRAINED}"
SIBLING = "model.hidden_size=16 model.attach_rank=6 model.decision_rank=4 model.root_rank=4"
LEXICAL = (
    "model.class_size=8 model.word_size=8 model.word_attach_rank=6 model.word_decision_rank=4 model.word_root_rank=4"
)
CCM = f"model.classes=8 model.passes=6 model.sequences=500 {COUNTED}"
SETTINGS = {
    name: text.split()
    for name, text in {
        "onlstm": ONLSTM,
        "onlstm-syd": f"model.supervised_layer=2 parse.layer=2 {ONLSTM}",
        "lstm": RECURRENT,
        "rnng": RNNG,
        "urnng": f"model.samples=3 {RNNG}",
        "prpn": PRPN,
        "prpn-syd": f"model.parsing_size=12 {PRPN}",
        "ordered-memory": f"model.slot_size=16 model.slots=3 {SENTENCES}",
        "ocn": f"model.embedding_size=12 model.hidden_size=12 model.inner_size=12 model.options=3 {SENTENCES}",
        "udgn": "model.channels=2 model.channel_size=8 model.layers=2 model.parser_layers=1 model.mask_rate=0.3 "
        + WORDS,
        "biaffine": f"model.hidden_size=12 model.arc_size=8 {WORDS}",
        "chart": f"model.embedding_size=16 model.hidden_size=12 model.span_size=8 loader.batch_words=120 {TRAINED}",
        "diora": f"model.embedding_size=12 model.hidden_size=12 model.negatives=8 loader.batch_words=120 {TRAINED}",
        "s-diora": f"model.embedding_size=24 model.hidden_size=24 loader.batch_words=120 {TRAINED} "
        "optimizer.learning_rate=0.01",
        "structformer": f"model.parser_layers=1 model.width=3 {TRANSFORMER}",
        "transformer": TRANSFORMER,
        "tree-transformer": f"parse.layer=2 model.mask_rate=0.3 {TRANSFORMER}",
        "npcfg": PCFG,
        "cpcfg": f"model.nonterminals=3 model.preterminals=6 model.latent_size=3 model.encoder_size=8 {GRAMMAR}",
        "simple-pcfg": PCFG,
        "tn-pcfg": f"model.rank=6 {PCFG}",
        "nl-pcfg": f"model.nonterminals=3 model.preterminals=6 {GRAMMAR}",
        "nbl-pcfg": f"model.rank=6 {PCFG}",
        "segment-edges": COUNTED,
        "ccm": CCM,
        "dmv": "model.members=2 model.classes_low=8 model.classes_high=9 model.short_passes=6 model.middle_passes=1 "
        f"model.long_passes=1 {COUNTED}",
        "dmv-ccm": CCM,
        "ndmv": f"model.embedding_size=8 model.hidden_size=12 model.child_size=8 model.decision_size=6 {NDMV}",
        "ndmv-sibling": f"{SIBLING} {NDMV}",
        "ndmv-lexical": f"{LEXICAL} {NDMV}",
        "ndmv-joint": f"{SIBLING} {LEXICAL} {NDMV}",
    }.items()
}


def settings(model: str, *more: str) -> RunConfig:
    """Settings of a tiny run of ``model``, changed by ``more``.

    Segments of a stream are short. Settings of the optimizer and the number of epochs are left out for a model without
    gradients, where they have no effect.
    """
    is_long = "loader.name=stream" in more and not any("segment_length" in change for change in more)
    more = (*more, "loader.segment_length=8") if is_long else more
    config = resolve(model=model, settings=SETTINGS[model])
    if config.optimizer_name == "none":
        more = tuple(change for change in more if not change.startswith(("optimizer.", "train.epochs=")))
    return changed(config, more)


def sentences(count: int = 100, seed: int = 1) -> list[Sentence]:
    """Sentences such as ``the big dog saw a cat .``"""
    draw = random.Random(seed)
    text = []
    for _ in range(count):
        noun, verb = draw.choice(["dog", "cat", "man", "girl"]), draw.choice(["saw", "met", "heard"])
        words = ["The", noun, verb, draw.choice(["a", "the"]), draw.choice(["dog", "cat", "12", "man"]), "."]
        if draw.random() < 0.5:
            words.insert(1, draw.choice(["big", "old", "red"]))
        text.append(Sentence(tuple(words)))
    return text


def with_trees(text: list[Sentence]) -> list[Sentence]:
    """The sentences with trees such as ``((the (big dog)) (saw (a cat)) .)``."""
    annotated = []
    for sentence in text:
        subject = len(sentence.words) - 4
        spans = [(0, subject), (subject, subject + 3), (subject + 1, subject + 3)]
        annotated.append(replace(sentence, tree=Tree.from_spans(sentence.words, spans)))
    return annotated


def encoded(
    text: Iterable[Sentence], recipe: str = "cased", *, minimum_count: int = 3, unknown: str = "shape", **options: Any
) -> EncodedCorpus:
    """A text as word indices, with ``options`` of `read_corpora`."""
    corpus, _ = read_corpora(text, recipe, **options)
    return corpus.encode(corpus.vocabulary(20_000, minimum_count, unknown))


def encoded_ids(ids: Sequence[int], words: str = "abc", dropped: Sequence[int] = ()) -> EncodedCorpus:
    """A text of word indices, of which 0 ends a sentence, and 2, 3 … are ``words``.

    Punctuation marks before the words with the indices ``dropped`` were removed.
    """
    stream = np.array(ids, dtype=np.int32)
    marks = np.zeros(len(ids), dtype=bool)
    marks[list(dropped)] = True
    offsets = np.append(0, np.flatnonzero(stream == 0) + 1)
    return EncodedCorpus(Vocabulary(("<eos>", "<unk>", *words)), stream, offsets, marks, np.zeros(0, dtype=np.float32))


def random_batch(words: int, *lengths: int) -> FragmentBatch:
    """Sentences of these lengths, of random words below ``words``, without punctuation."""
    tokens = torch.randint(1, words, (len(lengths), max(lengths)), generator=torch.Generator().manual_seed(2))
    for row, length in enumerate(lengths):
        tokens[row, length:] = 0
    return FragmentBatch(tokens, torch.tensor(lengths), torch.zeros_like(tokens))


def corpora(config: RunConfig, count: int = 100) -> tuple[TextInMemory, TextInMemory]:
    """Training and development text."""
    text, data, learns = sentences(count), config.data, MODELS.get(config.model_name).learns_trees
    return read_corpora(
        with_trees(text) if learns else text,
        data.normalization,
        token=data.token,
        development_share=data.development_share,
        with_trees=learns,
        references=teacher_of(config.model_name),
    )


def teacher_of(model: str) -> Callable[[Iterable[Sentence]], Iterator[Reference]] | None:
    """Function that yields the trees or heads that ``model`` needs, or None if it needs no teacher."""
    entry = MODELS.get(model)
    if not entry.needs_teacher:
        return None
    return with_chains if entry.teacher_output == "heads" else with_spans


def with_spans(text: Iterable[Sentence]) -> Iterator[list[Tree]]:
    """Right-branching trees of each sentence."""
    for sentence in text:
        count = len(sentence.words)
        yield [Tree.from_spans(sentence.words, [(start, count) for start in range(count - 1)])]


def with_chains(text: Iterable[Sentence]) -> Iterator[np.ndarray]:
    """Head distributions of each sentence, in which the next word is the most probable head.

    The last word is the root.
    """
    for sentence in text:
        count = len(sentence.words)
        heads = np.full((count, count), 0.1 / count)
        heads[range(count), [*range(1, count), count - 1]] += 0.9
        yield heads


def make_trainer(
    config: RunConfig, training: TrainingData, development: TrainingData, folder: Path, **options: Any
) -> Trainer:
    """The trainer of a run on these texts."""
    return Trainer(make_run(config, training, development, folder, **options))


def trainer(config: RunConfig, run: Path, *, count: int = 100, **options: Any) -> Trainer:
    """A trainer on the toy text of ``count`` sentences."""
    return make_trainer(config, *corpora(config, count), run, device="cpu", **options)


def train(config: RunConfig, run: Path, **options: Any) -> list[Event]:
    """All events of a run."""
    events: Iterator[Event] = trainer(config, run).train(**options)
    return list(events)


def stop_after(calls: int) -> Callable[[], bool]:
    """The argument ``stop`` of a training that ends it at the call after so many others."""
    left = iter(range(calls))
    return lambda: next(left, None) is None


def weights(run: Path, name: str = RESUME) -> dict[str, Tensor]:
    """The weights in a file of a run."""
    return read(run / name).weights()


def assert_equal_weights(item: Path, other: Path) -> None:
    """The weights of two runs are equal bit for bit, in the latest state and in the best model."""
    for file in (RESUME, MODEL):
        other_weights = weights(other, file)
        for name, value in weights(item, file).items():
            assert value.equal(other_weights[name]), f"{file}: {name}"
