"""Counts of phrases and arcs agree with a plain count, in memory and with temporary files, and corpora are compared."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from tests.support.tgrep import random_tree
from treebank.base.errors import SynparseError
from treebank.core.sentence import Location, Sentence
from treebank.core.tree import Tree
from treebank.search import phrase_counter
from treebank.search.phrases import PhraseFilter, PhraseTable, count_phrases, log_likelihood_ratio, log_ratio


def sentences(seed: int, count: int = 150) -> list[Sentence]:
    """Sentences with random trees, ten in each file."""
    random = Random(seed)
    trees = [random_tree(random, random.randrange(1, 9)) for _ in range(count)]
    locations = [Location(f"{i // 10}.trees", i % 10) for i in range(count)]
    sure = [random.choice((None, 0.25, 0.5)) for _ in range(count)]  # in a sentence without numbers for phrases
    return [
        Sentence(tree.words, (), tree, location=location, confidence=value, confidences=confidences(random, tree))
        for tree, location, value in zip(trees, locations, sure, strict=True)
    ]


def confidences(random: Random, tree: Tree) -> tuple[float | None, ...]:
    """A confidence for each span of every second tree, None for some."""
    by_span = {span: random.choice((None, 0.125, 0.75)) for span in tree.spans}
    return tuple(map(by_span.__getitem__, tree.spans)) if random.random() < 0.5 else ()


def plain_counts(corpus: list[Sentence], shortest: int, longest: int) -> dict[tuple[str, str], tuple[object, ...]]:
    """Count, documents, mean confidence and share of each phrase, from lists of all phrases and word sequences."""
    phrases, sequences = [], Counter[str]()
    for sentence in corpus:
        tree, count = sentence.tree, len(sentence.words)
        for start in range(count):
            for end in range(start + shortest, min(start + longest, count) + 1):
                text = " ".join(sentence.words[start:end])
                sequences[text] += 1
                labels = [label for span, label in zip(tree.spans, tree.labels, strict=True) if span == (start, end)]
                if labels:
                    sure = dict(zip(tree.spans, sentence.confidences, strict=False))
                    value = sure[start, end] if sure else sentence.confidence
                    phrases.append((text, "+".join(labels), sentence.location.path, value))
    with_any_label = Counter(text for text, *_ in phrases)
    result = {}
    for key in {phrase[:2] for phrase in phrases}:
        same = [phrase for phrase in phrases if phrase[:2] == key]
        known = [phrase[3] for phrase in same if phrase[3] is not None]
        mean = sum(known) / len(known) if known else None
        share = with_any_label[key[0]] / sequences[key[0]]
        result[key] = (len(same), len({phrase[2] for phrase in same}), mean, share)
    return result


def values(table: PhraseTable, corpus: int = 0) -> dict[tuple[str, str], tuple[object, ...]]:
    """The cells of a table as in `plain_counts`."""
    return {
        (row.words, row.label): (
            *(row.frequencies[corpus].count, row.frequencies[corpus].documents),
            *(row.frequencies[corpus].confidence, row.frequencies[corpus].share),
        )
        for row in table
    }


@pytest.mark.parametrize("max_phrases", [1_000_000, 7])
@pytest.mark.parametrize(("shortest", "longest"), [(1, 3), (2, 9)])
def test_counts_in_memory_and_in_temporary_files(
    monkeypatch: pytest.MonkeyPatch, max_phrases: int, shortest: int, longest: int
) -> None:
    monkeypatch.setattr(phrase_counter.PhraseCounter.__init__, "__kwdefaults__", {"max_phrases": max_phrases})
    corpus = sentences(1)
    table = count_phrases([corpus], PhraseFilter(min_length=shortest, max_length=longest, min_count=1))
    expected = plain_counts(corpus, shortest, longest)
    assert values(table) == {key: pytest.approx(cells) for key, cells in expected.items()}
    assert table.totals == (sum(cells[0] for cells in expected.values()),)
    counts = [row.frequencies[0].count for row in table]
    assert counts == sorted(counts, reverse=True)


def test_filters() -> None:
    corpus = sentences(2)
    everything = values(count_phrases([corpus], PhraseFilter(min_count=1)))
    frequent = values(count_phrases([corpus], PhraseFilter(min_count=3)))
    assert frequent == {key: cells for key, cells in everything.items() if cells[0] >= 3}
    labeled = count_phrases([corpus], PhraseFilter(min_count=1, labels=["A"]))
    assert {row.label for row in labeled} == {label for _, label in everything if "A" in label.split("+")}
    matching = count_phrases([corpus], PhraseFilter(min_count=1, pattern="/[AB]/ <, a"))
    assert {row.words.split()[0] for row in matching} == {"a"}
    with pytest.raises(SynparseError, match="no phrase has 3 to 2 words"):
        PhraseFilter(min_length=3, max_length=2)


@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_limited_table_has_the_first_rows(seeds: tuple[int, ...]) -> None:
    corpora = list(map(sentences, seeds))
    everything = count_phrases(corpora, PhraseFilter(min_count=1))
    limited = count_phrases(corpora, PhraseFilter(min_count=1, limit=5))
    assert limited.rows == everything.rows[:5]
    assert limited.omitted == len(everything) - 5
    assert count_phrases(corpora, PhraseFilter(min_count=1, limit=len(everything))).omitted == 0


def test_empty_elements_are_left_out() -> None:
    tree = Tree.from_text("(S (NP (-NONE- *)) (VP (TO to) (VB go)))")
    plain = tree.without_traces()
    table = count_phrases([[Sentence(plain.words, plain.tags, tree)]], PhraseFilter(min_count=1))
    assert [(row.words, row.label) for row in table] == [("to go", "S+VP")]


def test_arcs() -> None:
    dogs = Sentence(("dogs", "chase", "dogs"), heads=(1, -1, 1), relations=("nsubj", "root", "obj"))
    table = count_phrases([[dogs, dogs, replace(dogs, heads=(-1, 0, 0))]], PhraseFilter(min_count=1))
    rows = {(row.words, row.label): row.frequencies[0] for row in table}
    assert rows["dogs ← chase", "nsubj"].count == 2
    assert rows["dogs ← chase", "nsubj"].share == pytest.approx(2 / 3)
    assert rows["dogs → chase", "root"].share == pytest.approx(1 / 3)
    assert rows["dogs → dogs", "obj"].count == 1
    near = count_phrases([[dogs]], PhraseFilter(min_count=1, labels=["obj"], pattern="{form=dogs}", max_length=2))
    assert [row.words for row in near] == ["chase → dogs"]


def test_confidence_and_documents_of_arcs() -> None:
    word = Sentence(("a", "b"), heads=(1, -1), relations=("det", "root"), confidence=0.5, confidences=(0.25, 0.75))
    x, y = replace(word, document="x"), replace(word, document="y")
    table = count_phrases([[x, word, y]], PhraseFilter())
    assert table.rows[0].frequencies[0].confidence == 0.25
    assert [(row.frequencies[0].count, row.frequencies[0].documents) for row in table] == [(3, 2)]


def test_two_corpora() -> None:
    first, second = sentences(3), sentences(4, 80)
    choice = PhraseFilter(min_length=1, max_length=2, min_count=4)
    table = count_phrases([first, second], choice)
    alone = [values(count_phrases([corpus], replace(choice, min_count=1))) for corpus in (first, second)]
    for row in table:
        key = row.words, row.label
        counts = [rows[key][0] if key in rows else 0 for rows in alone]
        assert [frequency.count for frequency in row.frequencies] == counts
        assert sum(counts) >= 4
        assert row.log_likelihood == pytest.approx(log_likelihood_ratio(*counts, *table.totals))
        assert row.log_ratio == log_ratio(*counts, *table.totals)
    assert [row.log_likelihood for row in table] == sorted((row.log_likelihood for row in table), reverse=True)
    assert list(table.records()[0])[:5] == ["words", "label", "LLR", "log ratio", "count 1"]


def test_log_likelihood_ratio_is_that_of_the_definition() -> None:
    expected = 2 * (20 * math.log(20 / (1000 * 25 / 3000)) + 5 * math.log(5 / (2000 * 25 / 3000)))
    assert log_likelihood_ratio(20, 5, 1000, 2000) == pytest.approx(expected)
    assert log_likelihood_ratio(0, 0, 1000, 2000) == 0
    assert log_likelihood_ratio(3, 6, 1000, 2000) == pytest.approx(0)
    assert log_ratio(1, 1, 0, 5) is None
