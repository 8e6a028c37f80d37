"""Statistics and problems of a training text."""

from __future__ import annotations

import functools
import operator

import pytest

from induce.data.corpus_checks import Health, Watch
from tests.support.reference import SHARED
from treebank.corpora.sample import sample_treebank
from treebank.io.read import read_sentences

SENTENCE = ["The", "old", "man", "saw", "a", "dog", "in", "the", "park", "."]


def health(sentences: list[list[str]]) -> Health:
    watch = Watch()
    for words in sentences:
        watch.add(words)
    return watch.health


def distinct_sentences(count: int, *, words: int = 10) -> list[list[str]]:
    return [[f"w{number}{'abcdefghij'[index]}" for index in range(words)] for number in range(count)]


CASES = {
    "too few for useful trees": distinct_sentences(300),
    "looks untokenized": [[*sentence[:-1], "dog."] for sentence in distinct_sentences(3000)],
    "no spaces between words": [["我爱北京天安门很多人都去那里玩所以我们也想去看看"], ["今天天气很好" * 4]] * 2000,
    "one sentence is 50% of all": [sentence for other in distinct_sentences(2000) for sentence in (other, SENTENCE)],
    "look like tags": [["(NP", "<b>", "</b>", *sentence] for sentence in distinct_sentences(3000)],
    "are paragraphs, not sentences": distinct_sentences(200, words=10)
    and [functools.reduce(operator.iadd, distinct_sentences(12), []) for _ in range(200)],
    "divided by hyphens": [["the", "old", "teach", "-"], ["er", "saw", "us", "."]] * 3000,
    "continue the sentence of the line before": [["The", "old", "man"], ["saw", "us", "in", "the", "park", "."]] * 3000,
    "no stop and no capital letter": distinct_sentences(3000),
    "too few for a tree of any shape": [["Yes"], ["No", "way"]] * 12_000,
}


@pytest.mark.parametrize("problem", CASES)
def test_problem_is_found(problem: str) -> None:
    findings = health(CASES[problem]).findings()
    assert any(problem in finding.partition("; ")[0] for finding in findings), findings
    assert all(finding.partition("; ")[2] for finding in findings)


def test_hyphen_inside_of_a_paragraph_is_found() -> None:
    watch = Watch()
    for words in distinct_sentences(3000):
        watch.add([word.capitalize() for word in words], "The old teach-\ner saw us .")
    assert any("divided by hyphens" in finding for finding in watch.health.findings())


def test_small_text_is_no_problem_for_segment_edges() -> None:
    statistics = health([first + first for first in distinct_sentences(60)])
    assert [len(statistics.findings(model=model)) for model in ("onlstm", "segment-edges")] == [1, 0]
    (finding,) = health([SENTENCE, *distinct_sentences(50)]).findings(model="segment-edges")
    assert finding.endswith("for trees better than trivial ones; give more text (1,000 words at the very least)")


def test_ordinary_text_has_no_findings() -> None:
    assert health([list(sentence.words) for sentence in sample_treebank("train").sentences]).findings() == []
    path = SHARED / "data/raw/tr_imst_train.txt"
    if path.exists():
        watch = Watch()
        for sentence in read_sentences([path]):
            watch.add(sentence.words)
        assert watch.health.findings() == [] or "untokenized" in watch.health.findings()[0]


def test_summary_and_stored_statistics() -> None:
    statistics = health([SENTENCE, [], ["Да", "!"]])
    assert statistics.summary() == "2 sentences of 6.0 words; Latin 93%, Cyrillic 7%"
    assert statistics.to_json()["scripts"]["LATIN"] == pytest.approx(25 / 27)
