"""PTB-Concat-Syn: forms of tokens, the vocabulary and the report."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from treebank.convert.concat_syn import END, UNKNOWN, ConcatSyn, WordAlignment, count_forms, end_sentence, rewrite
from treebank.core.distances import distances_from_tree
from treebank.core.sentence import Location, Sentence
from treebank.core.tree import TRACE, Tree


@st.composite
def nested_trees(draw: st.DrawFn) -> Tree:
    """Trees of 2 to 8 different words."""
    count = draw(st.integers(2, 8))
    spans = {(0, count)}
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, count - 2))
        span = (start, draw(st.integers(start + 2, count)))
        if all(
            span[1] <= a or b <= span[0] or a <= span[0] < span[1] <= b or span[0] <= a < b <= span[1] for a, b in spans
        ):
            spans.add(span)
    return Tree.from_spans([f"w{index}" for index in range(count)], spans)


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


@given(nested_trees(), st.data())
def test_tree_receives_exactly_the_words_of_the_file(tree: Tree, data: st.DataObject) -> None:
    """Brackets over words that do not change stay (step 9)."""
    words: list[str] = []
    for word in tree.words:
        words += data.draw(st.sampled_from([[word]] * 6 + [["new"], [], [word, "more"]]))
    assume(len(set(words) & set(tree.words)) > max(len(words), len(tree)) / 2)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "words.txt"
        path.write_text(" ".join(words) + "\n", encoding="utf-8")
        alignment = WordAlignment([str(path)])
        aligned = alignment(end_sentence(tree), Location("gold.mrg", 1))
        alignment.finish()
    assert aligned.words == (*words, END)
    assert Tree.from_text(str(aligned)).spans == aligned.spans
    texts = {tuple(aligned.words[start:end]) for start, end in aligned.spans}
    if "new" not in words and "more" not in words:
        remaining = [tuple(word for word in tree.words[start:end] if word in words) for start, end in tree.spans]
        assert texts >= {text for text in remaining if text}
    changed = sum(alignment.differences.values())
    assert bool(changed) == (tuple(words) != tree.words)
