"""The generator of the built-in corpus: English sentences with trees and heads, drawn from a feature grammar.

``python -m bench.sample`` writes the data files of `treebank.corpora.sample`.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from bench.sample.grammar import Symbol, read_grammar
from bench.sample.lexicon import read_lexicon
from bench.sample.sampler import Sampler, key
from treebank.core.sentence import Sentence
from treebank.corpora.sample import SIZES

SEEDS = {"train": 1, "dev": 2, "test": 3}
MAX_WORDS = 40  # punctuation not counted
MIN_UNIQUE_WORDS = 6  # from this length on, a sentence of one part is in no other part


@cache
def generate(part: str) -> tuple[Sentence, ...]:
    """The sentences of ``train``, ``dev`` or ``test``, which are the same on every machine.

    No sentence of six or more words of one part occurs in another part, or twice in ``dev`` or ``test``.
    """
    used = _longer_sentences(part)
    sampler = Sampler(_grammar(), SEEDS[part])
    sentences: list[Sentence] = []
    while len(sentences) < SIZES[part]:
        tree, heads = sampler.draw()
        words = key(tree)
        if len(words) > MAX_WORDS or words in used:
            continue
        if len(words) >= MIN_UNIQUE_WORDS and part != "train":
            used.add(words)
        sentences.append(Sentence(tree.words, tree.tags, tree, heads))
    return tuple(sentences)


def _longer_sentences(part: str) -> set[tuple[str, ...]]:
    """The sentences of six or more words of the parts that are drawn before ``part``."""
    before = {"test": (), "dev": ("test",), "train": ("test", "dev")}[part]
    keys = (key(sentence.tree) for name in before for sentence in generate(name) if sentence.tree)
    return {words for words in keys if len(words) >= MIN_UNIQUE_WORDS}


@cache
def _grammar() -> Symbol:
    """The grammar in ``grammar.txt`` with the words of ``lexicon.txt``."""
    folder = files(__package__)
    lexicon = read_lexicon((folder / "lexicon.txt").read_text("utf-8"))
    return read_grammar((folder / "grammar.txt").read_text("utf-8"), lexicon)
