"""What is odd about a corpus before anything is learned from it."""

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
    assert list(watch(sentences)) == sentences
    return watch.health


def different(count: int, *, words: int = 10) -> list[list[str]]:
    return [[f"w{number}{'abcdefghij'[place]}" for place in range(words)] for number in range(count)]


CASES = {
    "too little for useful trees": different(300),
    "looks untokenized": [[*sentence[:-1], "dog."] for sentence in different(3000)],
    "no spaces between words": [["我爱北京天安门很多人都去那里玩所以我们也想去看看"], ["今天天气很好" * 4]] * 2000,
    "one sentence is 50% of all": [sentence for one in different(2000) for sentence in (one, SENTENCE)],
    "look like tags": [["(NP", "<b>", "</b>", *sentence] for sentence in different(3000)],
    "are paragraphs, not sentences": different(200, words=10)
    and [functools.reduce(operator.iadd, different(12), []) for _ in range(200)],
    "too few for a tree of any shape": [["Yes"], ["No", "way"]] * 12_000,
}


@pytest.mark.parametrize("problem", CASES)
def test_findings(problem: str) -> None:
    findings = health(CASES[problem]).findings()
    assert any(problem in finding.problem for finding in findings), [str(finding) for finding in findings]
    assert all(finding.remedy for finding in findings)


def test_unknown_words() -> None:
    assert "35% of the words are unknown" in str(health(different(3000)).findings(0.35)[0])


def test_nothing_is_odd_about_ordinary_text() -> None:
    assert health([list(one.words) for one in sample_treebank("train").sentences]).findings(0.02) == []
    path = SHARED / "data/raw/tr_imst_train.txt"
    if path.exists():
        found = Watch()
        for sentence in read_sentences([path]):
            found.add(sentence.words)
        assert found.health.findings(0.15) == [] or "untokenized" in str(found.health.findings(0.15)[0])


def test_summary_and_facts() -> None:
    seen = health([SENTENCE, [], ["Да", "!"]])
    assert seen.summary(0.25) == "2 sentences of 6.0 words; 25.0% unknown; Latin 93%, Cyrillic 7%"
    assert seen.to_json()["scripts"]["LATIN"] == pytest.approx(25 / 27)
