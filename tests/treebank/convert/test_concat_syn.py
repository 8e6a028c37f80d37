"""PTB-Concat-Syn: forms of tokens, the vocabulary and the report."""

from __future__ import annotations

from collections import Counter

import pytest

from treebank.convert.concat_syn import END, UNKNOWN, ConcatSyn, count_forms, rewrite
from treebank.core.distances import distances_from_tree
from treebank.core.sentence import Sentence
from treebank.core.tree import TRACE, Tree


@pytest.mark.parametrize(
    ("word", "tag", "form", "step"),
    [
        ("The", "DT", "the", 1),
        ("1989", "CD", "N", 2),
        ("33.8", "CD", "N", 2),
        ("-9-", "CD", "N", 2),
        ("1,000", "CD", "1,000", None),
        ("30-day", "JJ", "30-day", None),
        ("$", "$", "N", 3),
        ("C$", "$", "c$", 1),
        ("\\", "POS", None, 4),
        ("wa", "NNP", None, 4),
        ("wa", "VB", "wa", None),
        ("-", ":", None, 5),
        ("...", ":", None, 5),
        ("-LRB-", "-LRB-", None, 5),
        ("``", "``", None, 5),
        ("0", TRACE, None, 6),
        ("%", "NN", "%", None),
    ],
)
def test_form_of_one_token(word: str, tag: str, form: str | None, step: int | None) -> None:
    changed: Counter[int] = Counter()
    assert rewrite(word, tag, changed) == form
    if step:
        assert changed[step] == 1
    else:
        assert not +changed


def test_ptb_concat_syn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treebank.convert.concat_syn.VOCABULARY_SIZE", 3)
    texts = ["(S (NP (DT The) (NN man)) (VP (VBZ pays) (NP ($ $) (CD 5) (-NONE- *U*))) (. .))", "(S (. .) (: -))"]
    sentences = [Sentence((), tree=Tree.from_text(text)) for text in texts]
    counts = count_forms(sentences)
    assert counts == Counter({"the": 1, "man": 1, "pays": 1, "N": 2, END: 1})
    recipe = ConcatSyn(counts)
    (result,) = recipe(sentences)
    assert recipe.vocabulary == {"N", "the", "man"}  # the first of those that are as frequent
    expected = f"(TOP (S (NP (DT the) (NN man)) (VP (VBZ {UNKNOWN}) (NP ($ N) (CD N)))) ({END} {UNKNOWN}))"
    assert str(result.tree) == expected
    report = "\n".join(recipe.report())
    for line in ("1          1 ", "2          1 ", "3          1 ", "5          3 ", "6          1 ", "7          1 "):
        assert f"  {line}" in report
    assert "vocabulary: 3 of 5 forms" in report
    assert "no word remained: 1 of 2" in report


def test_end_of_sentence_follows_the_largest_distance() -> None:
    (result,) = ConcatSyn(Counter(["a", "b", "c", END]))([Sentence((), tree=Tree.from_text("(S (A a) (B b) (C c))"))])
    assert result.tree is not None
    distances = distances_from_tree(result.tree)
    assert distances[-1] == max(distances[1:])
