"""The generator of the built-in corpus."""

from __future__ import annotations

import pytest

from bench.sample import generate
from bench.sample.grammar import read_grammar
from bench.sample.lexicon import read_lexicon
from bench.sample.sampler import Sampler
from treebank.base.errors import TreebankError
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


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("*S\n", "*X\n", "grammar.txt:3: X has no rules"),
        ("*@see.VBD", "@see.VBD", "grammar.txt:5: .* needs one head"),
        ("*@see.VBD", "*@see.VBD?40", "grammar.txt:5: .* a head cannot be optional"),
        ("@thing.$n", "@person.$n", "grammar.txt:7: the lexicon has no person"),
        ("$n = sg 2, pl 1\n", "", "grammar.txt:4: .*n is not declared"),
        ("    1 the/DT", "    the/DT", "grammar.txt:7: .* is not a rule"),
        ("    1 the/DT", "    1 NP[$n]", "contain itself"),
        ("NP[$n]\n", "NP[$n]\n    1 *VP\nVP\n    1 went/VBD\nNP[x]\n", "grammar.txt:11|grammar.txt"),
        ("./.", ".", "grammar.txt:5: '.' is neither"),
        ("    1 the/DT", "    1~ the/DT", "no rule that is not recursive"),
    ],
)
def test_malformed_grammar_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(TreebankError, match=message):
        read_grammar(RULES.replace(old, new, 1), read_lexicon(WORDS))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("box\n", "lexicon.txt:1: a word before"),
        ("[thing noun\nbox\n", "lexicon.txt:1: .* opens no class"),
        ("[a] noun\nbox\n[a] verb\ngo\n", "lexicon.txt:3: .* twice"),
        ("[a] verb\ngo/went\n", "lexicon.txt:2: 'go/went' is no verb"),
        ("[a] noun\n", r"lexicon.txt: class \[a\] has no words"),
    ],
)
def test_malformed_lexicon_is_refused(text: str, message: str) -> None:
    with pytest.raises(TreebankError, match=message):
        read_lexicon(text)
