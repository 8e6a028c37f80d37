"""The built-in corpus: English sentences with trees and heads, drawn from a grammar written for this project."""

from __future__ import annotations

import lzma
from functools import cache
from importlib.resources import files

from treebank.base.arguments import Registry
from treebank.core.sentence import Location, Sentence, Treebank
from treebank.core.tree import Tree

SAMPLE = "sample"  # the name of the corpus, for its part ``test``
SIZES = {"train": 20_000, "dev": 1_000, "test": 1_000}
PARTS = Registry("part of the sample corpus", SIZES)


@cache
def sample_treebank(part: str) -> Treebank:
    """The ``train`` (20,000 sentences), ``dev`` or ``test`` (1,000) part.

    No sentence of six or more words of one part occurs in another part, or twice in ``dev`` or ``test``. Raises
    SynparseError for another name.
    """
    PARTS.get(part)
    text = lzma.decompress((files(__package__) / f"{part}.xz").read_bytes()).decode()
    sentences = []
    for number, line in enumerate(text.splitlines(), 1):
        brackets, heads = line.split("\t")
        tree, location = Tree.from_text(brackets), Location(f"sample-{part}", number)
        sentences.append(Sentence(tree.words, tree.tags, tree, tuple(map(int, heads.split())), location=location))
    return Treebank(f"sample-{part}", tuple(sentences))
