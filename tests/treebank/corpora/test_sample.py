"""The built-in corpus is what docs/reference/sample.md promises."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from bench.sample.sampler import PUNCTUATION, key
from treebank.base.errors import SynparseError
from treebank.core.sentence import Location, Sentence
from treebank.corpora.sample import sample_treebank
from treebank.corpora.sample.__main__ import main

# sha256 of the lines "tree <tab> heads", made by `digest` below when the corpus was fixed. The corpus must never
# change: scores and models of different versions are compared on it.
DIGESTS = {
    "test": "d14eb0574e7c771264663a853c11dd4d7bf2c93120beee02fe6c7a0bbc84d01f",
    "dev": "7e204c19727ba04d005973f93a49ded1ea764a6b1b6af9adfddce72451b24cbd",
    "train": "b5006d080df7b921140e7824375b0395471b5c9d2ce8f925805fb02642b4b461",
}


def sentences(part: str) -> list[Sentence]:
    return list(sample_treebank(part).sentences)


def gold(sentence: Sentence) -> str:
    return str(sentence.tree)


def digest(part: str) -> str:
    lines = (f"{gold(s)}\t{' '.join(map(str, s.heads))}\n" for s in sentences(part))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def word_spans(sentence: Sentence) -> tuple[int, set[tuple[int, int]]]:
    """Length without punctuation, and the spans that the convention ``on-lstm`` counts."""
    assert sentence.tree is not None
    tree = sentence.tree.keep([tag not in PUNCTUATION for tag in sentence.tags])
    return len(tree), {(a, b) for a, b in tree.spans if 1 < b - a < len(tree)}


def f1(predicted: set[tuple[int, int]], expected: set[tuple[int, int]]) -> float:
    if not expected:
        return float(not predicted)
    return 2 * len(predicted & expected) / (len(predicted) + len(expected))


def balanced(start: int, end: int) -> Iterator[tuple[int, int]]:
    if end - start > 1:
        middle = start + (end - start) // 2
        yield from [(start, end), *balanced(start, middle), *balanced(middle, end)]


@pytest.mark.parametrize(("part", "count"), [("train", 20_000), ("dev", 1_000), ("test", 1_000)])
def test_parts_have_their_size_and_never_change(part: str, count: int) -> None:
    treebank = sample_treebank(part)
    assert len(treebank) == count
    assert treebank.sentences[-1].location == Location(f"sample-{part}", count)
    assert digest(part) == DIGESTS[part]


def test_unknown_part_is_an_error() -> None:
    with pytest.raises(SynparseError, match="did you mean 'train'"):
        sample_treebank("training")


def test_longer_sentences_are_unique() -> None:
    long = {
        part: [k for s in sentences(part) if s.tree and len(k := key(s.tree)) >= 6] for part in ("train", "dev", "test")
    }
    assert not set(long["test"]) & set(long["train"])
    assert not set(long["dev"]) & set(long["train"])
    assert not set(long["dev"]) & set(long["test"])
    assert len(set(long["test"])) == len(long["test"])
    assert len(set(long["dev"])) == len(long["dev"])


def test_lengths_are_those_of_plain_text() -> None:
    lengths = [word_spans(s)[0] for s in sentences("test")]
    assert 10 <= sum(lengths) / len(lengths) <= 14
    assert max(lengths) <= 40
    assert 50 <= sum(length <= 5 for length in lengths) <= 200


def test_vocabulary_is_large_and_its_curve_is_natural() -> None:
    counts = Counter(
        word.lower() for s in sentences("train") for word, tag in zip(s.words, s.tags, strict=True) if tag.isalpha()
    )
    assert len(counts) >= 600
    curve = [count for _, count in counts.most_common()]
    slope = math.log(curve[499] / curve[4]) / math.log(500 / 5)
    assert -1.4 < slope < -0.7  # Zipf's law: -1
    assert len({w.lower() for s in sentences("test") for w in s.words}) >= 600


def test_right_branching_scores_what_it_scores_on_real_english() -> None:
    scores: Counter[str] = Counter()
    for sentence in sentences("test"):
        n, expected = word_spans(sentence)
        scores["right"] += f1({(i, n) for i in range(1, n - 1)}, expected)  # type: ignore[assignment]
        scores["left"] += f1({(0, i) for i in range(2, n)}, expected)  # type: ignore[assignment]
        scores["balanced"] += f1(set(balanced(0, n)) - {(0, n)}, expected)  # type: ignore[assignment]
    assert 350 < scores["right"] < 500  # tenths of a percent, over 1,000 sentences
    assert scores["left"] < scores["balanced"] < scores["right"]


@pytest.mark.parametrize("part", ["dev", "test"])
def test_heads_form_one_projective_tree_that_agrees_with_the_brackets(part: str) -> None:
    for sentence in sentences(part):
        heads, tree = sentence.heads, sentence.tree
        assert tree is not None
        assert tree.words == sentence.words
        assert tree.tags == sentence.tags
        assert len(heads) == len(sentence.words)
        assert heads.count(-1) == 1
        for word in range(len(heads)):
            assert -1 in ancestors(heads, word)
            left, right = sorted((word, max(heads[word], 0) if heads[word] >= 0 else word))
            assert all(max(word, heads[word]) == w or heads[word] in ancestors(heads, w) for w in range(left, right))
        for start, end in tree.spans:
            assert sum(not start <= heads[word] < end for word in range(start, end)) == 1


def ancestors(heads: tuple[int, ...], word: int) -> list[int]:
    """The chain from the word to its head and further heads, without repetition."""
    chain = [word]
    while chain[-1] >= 0 and heads[chain[-1]] not in chain:
        chain.append(heads[chain[-1]])
    return chain


NOUN = r"\(NNS? \w+\)"
CONSTRUCTIONS = {
    "subject with PP": r"\(S \(NP \(NP [^()]*(\([^()]+\) ?)+\) \(PP ",
    "subject relative": r"\(SBAR \(WHNP \(\w+ (who|that|which)\)\) \(S \(VP ",
    "object relative": r"\(SBAR \(WHNP \(\w+ (that|which)\)\) \(S \(NP ",
    "relative without a pronoun": r"\(NP \(NP [^()]*(\([^()]+\) ?)+\) \(SBAR \(S \(NP ",
    "reduced relative": r"\) \(VP \(VB[NG] \w+\) \(PP ",
    "place relative": r"\(SBAR \(WHADVP \(WRB where\)\) \(S ",
    "appositive": r"\(NP \(NP \(NNP \w+\)( \(NNP \w+\))?\) \(, ,\) \(NP ",
    "coordinated nouns": rf"{NOUN} \(CC and\) {NOUN}",
    "coordinated NP": r"\(NP \(NP .*\) \(CC and\) \(NP ",
    "coordinated VP": r"\(VP \(VP .*\) \(CC (and|but)\) \(VP ",
    "coordinated S": r"\(S \(S .*\) \(CC (and|but|so)\) \(S ",
    "coordinated ADJP": r"\(ADJP \(JJ \w+\) \(CC (and|but)\) \(JJ \w+\)\)",
    "possessive": r"\(NP \(NP [^()]*(\([^()]+\) ?)+ \(POS 's\)\)",
    "stacked possessive": r"\(NP \(NP \(NP .* \(POS 's\)\) \(NN \w+\) \(POS 's\)\)",
    "plural possessive": r"\(NNS \w+\) \(POS '\)\)",
    "flat compound": rf"\(NP \(DT \w+\) \(NN \w+\) {NOUN}\)",
    "compound with NML": r"\(NML \(\w+ \w+\) \(NN \w+\)\)",
    "PP first": r"^\(S \(PP ",
    "adverb first": r"^\(S \(ADVP ",
    "clause first": r"^\(S \(SBAR ",
    "NP adverbial": r"\(NP \(JJ (last|next)\) \(NN \w+\)\)",
    "PP last": r"\(VP .*\(PP .*\)\)\) \(\. \.\)\)$",
    "manner adverb last": r"\(ADVP \(RB \w+ly\)\)\) \(\. \.\)\)$",
    "clause last": r"\(VP .*\(SBAR \(IN because\)",
    "ditransitive": r"\(VP \(VB\w? (gave|give|gives)\) \(NP .*?\) \(NP ",
    "that-clause": r"\(SBAR \(IN that\) \(S ",
    "bare complement clause": r"\(VP \(VB\w? (say|said|says|think|thinks|thought)\) \(SBAR \(S ",
    "infinitive": r"\(S \(VP \(TO to\) \(VP \(VB ",
    "object and infinitive": r"\(VP \(VB\w? (ask|asked|asks)\) \(NP .*?\) \(S \(VP \(TO to\) ",
    "embedded question": r"\(SBAR \((IN whether|WHADVP|WHNP)",
    "gerund subject": r"^\(S \(S \(VP \(VBG ",
    "fronted quotation": r"\(, ,\) \(NP .*\) \(VP \(VBD said\)",
    "modal": r"\(VP \(MD \w+\) \(VP \(VB ",
    "perfect": r"\(VP \(VB[ZPD] (has|have|had)\) \(VP \(VBN ",
    "progressive": r"\(VP \(VB[ZPD] (is|are|was|were|am)\) \(VP \(VBG ",
    "passive": r"\(VP \(VB[ZPD] (is|are|was|were|am)\) \(VP \(VBN .*\(PP \(IN by\) ",
    "do and not": r"\(VP \(VB[ZPD] (do|does|did)\) \(RB (not|n't)\) \(VP ",
    "yes/no question": r"^\(SQ \((VB\w|MD) \w+\) \(NP ",
    "wh-question": r"^\(SBARQ \(WHNP \(WP (What|Who)\)\) \(SQ \(",
    "which-question": r"^\(SBARQ \(WHNP \(WDT Which\) ",
    "why-question": r"^\(SBARQ \(WHADVP \(WRB Why\)\) \(SQ ",
    "particle first": r"\(PRT \(RP \w+\)\) \(NP ",
    "particle last": r"\(NP .*?\) \(PRT \(RP (up|down|away|back)\)\)",
    "copula with adjective": r"\(VP \(VB[ZPD] (is|are|was|were)\) \(ADJP ",
    "copula with noun": r"\(VP \(VB[ZPD] (is|are|was|were)\) \(NP ",
    "comparison": r"\(ADJP \(JJR \w+\) \(PP \(IN than\) ",
    "existential": r"\(NP \(EX [Tt]here\)\) \(VP ",
    "extraposition": r"\(NP \(PRP [Ii]t\)\) \(VP \(VB\w (is|was)\) \(ADJP .*\) \(S(BAR)? ",
    "number": r"\(NP \(CD \w+\) .*\(NNS ",
    "QP": r"\(QP \(",
    "quantifier": r"\(JJ (many|several)\)",
    "name": r"\(NP \(NNP \w+\.\) \(NNP \w+\)\)",
    "subject pronoun": r"\(S \(NP \(PRP (He|She|They|I|We)\)\)",
    "object pronoun": r"\(NP \(PRP (him|her|them|me|us)\)\)",
    "command": r"^\(S \(VP \(VB \w+\) ",
    "interjection": r"^\(INTJ ",
}


@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_construction_occurs(name: str) -> None:
    pattern = re.compile(CONSTRUCTIONS[name])
    assert any(pattern.search(gold(sentence)) for sentence in sentences("test"))


def test_pronouns_have_case() -> None:
    for sentence in sentences("dev"):
        text = gold(sentence)
        assert not re.search(r"\(S \(NP \(PRP (him|them|me|us)\)\)", text)
        assert not re.search(r"\((IN|TO) \w+\) \(NP \(PRP (he|she|they|I|we)\)\)", text)


def test_reading_a_part_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test"]) == 0
    assert capsys.readouterr().out.splitlines() == [" ".join(s.words) for s in sentences("test")]
    assert main(["test", "--trees"]) == 0
    assert capsys.readouterr().out.splitlines() == [gold(s) for s in sentences("test")]
