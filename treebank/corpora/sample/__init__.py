"""The built-in corpus: English sentences, trees and heads drawn from a grammar written for this project."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from treebank.base.errors import UnknownNameError, nearest
from treebank.core.sentence import Place, Sentence, Treebank
from treebank.corpora.sample.grammar import Symbol, read_grammar
from treebank.corpora.sample.lexicon import read_lexicon
from treebank.corpora.sample.sampler import Sampler, key

SIZES = {"train": 20_000, "dev": 1_000, "test": 1_000}
SEEDS = {"train": 1, "dev": 2, "test": 3}
LONGEST = 40  # words, punctuation not counted
SHORTEST_UNIQUE = 6  # from this length on, a sentence of one part is in no other


@cache
def sample_treebank(part: str) -> Treebank:
    """The ``train`` (20,000 sentences), ``dev`` or ``test`` (1,000) part; the same on every machine.

    No sentence of six or more words of one part occurs in another part, or twice in ``dev`` or ``test``. The test
    part is drawn without the others. Raises SynparseError for another name.
    """
    if part not in SIZES:
        raise UnknownNameError(f"the sample corpus has no part {part!r} ({nearest(part, SIZES)})")
    taken = _taken(part)
    sampler = Sampler(_grammar(), SEEDS[part])
    sentences: list[Sentence] = []
    while len(sentences) < SIZES[part]:
        tree, heads = sampler.draw()
        words = key(tree)
        if len(words) > LONGEST or words in taken:
            continue
        if len(words) >= SHORTEST_UNIQUE and part != "train":
            taken.add(words)
        place = Place(f"sample-{part}", len(sentences) + 1)
        sentences.append(Sentence(tree.words, tree.tags, tree, heads, place=place))
    return Treebank(f"sample-{part}", tuple(sentences))


def _taken(part: str) -> set[tuple[str, ...]]:
    """The longer sentences of the parts that are drawn before ``part``."""
    before = {"test": (), "dev": ("test",), "train": ("test", "dev")}[part]
    keys = (key(sentence.tree) for name in before for sentence in sample_treebank(name).sentences if sentence.tree)
    return {words for words in keys if len(words) >= SHORTEST_UNIQUE}


@cache
def _grammar() -> Symbol:
    """The grammar of the two text files beside this one."""
    folder = files(__package__)
    lexicon = read_lexicon((folder / "lexicon.txt").read_text("utf-8"))
    return read_grammar((folder / "grammar.txt").read_text("utf-8"), lexicon)
