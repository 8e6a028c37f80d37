"""The generator of the built-in corpus."""

from __future__ import annotations

import pytest

from bench.sample import generate
from bench.sample.grammar import read_grammar
from bench.sample.lexicon import read_lexicon
from bench.sample.sampler import Sampler
from treebank.corpora.sample import sample_treebank


@pytest.mark.parametrize("part", ["test", "dev"])
def test_generator_reproduces_the_shipped_corpus(part: str) -> None:
    assert generate(part) == sample_treebank(part).sentences


WORDS = "[thing] noun\nbox/boxes\n[see] verb\nsee/saw/seen\n"
RULES = "$n = sg 2, pl 1\n_text\n    1 *S\nS\n    1 NP[$n] *@see.VBD NP[$n]?50 ./.\nNP[$n]\n    1 the/DT *@thing.$n\n"


def test_small_grammar_generates_its_language() -> None:
    sampler = Sampler(read_grammar(RULES, read_lexicon(WORDS)), seed=1)
    samples = {sampler.draw() for _ in range(200)}
    texts = {" ".join(tree.words): heads for tree, heads in samples}
    assert set(texts) == {"The box saw .", "The boxes saw .", "The box saw the box .", "The boxes saw the boxes ."}
    assert texts["The box saw ."] == (1, 2, -1, 2)
