"""Lines of JSON for parsed sentences: trees or heads with confidences, and the k best trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from induce.parsing.parser import ReadHeads
from induce.parsing.reading import Confidences, ConfidentTree, ScoredHeads, ScoredTree, mean_confidence
from treebank.base.metadata import json_text
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree

DECIMALS = 2  # of a confidence in a label or in MISC

Relations = Callable[[Sequence[str], Sequence[int]], Sequence[str]]  # of the words of a sentence with their heads


def tree_line(parsed: ConfidentTree, sentence: Sentence) -> str:
    """``{"words": […], "spans": [[start, end], …], "line": 1, "confidences": [null, 0.31, …], …}``.

    Spans are in pre-order, and ``labels`` follow if the model labels them. ``confidences`` has one number for each
    span, null for the full sentence, and ``confidence`` is their mean. Both are missing if no span has one.
    """
    tree = parsed.tree
    return _line(sentence, tree.words, _spans(tree), parsed.confidences)


def heads_line(parsed: ReadHeads, sentence: Sentence, label: Relations | None = None) -> str:
    """``{"words": […], "arcs": [1, -1, …], "line": 1, "confidences": [0.9, …], …}``: the head of each word.

    ``relations`` follow ``arcs`` if ``label`` gives the relations of words and heads.
    """
    return _line(sentence, parsed.words, _arcs(parsed.words, parsed.heads, label), parsed.confidences)


def ranked_line(trees: Sequence[ScoredTree], sentence: Sentence) -> str:
    """The line of the best tree, and under ``trees`` the score, the spans and the labels of each tree, best first."""
    best = trees[0].tree
    ranked = [{"score": score, **_spans(tree)} for score, tree in trees]
    return _line(sentence, best.words, {**_spans(best), "trees": ranked}, ())


def ranked_heads_line(
    words: Sequence[str], trees: Sequence[ScoredHeads], sentence: Sentence, label: Relations | None = None
) -> str:
    """The line of the best heads, and under ``trees`` the score and the heads of each tree, best first."""
    ranked = [{"score": score, **_arcs(words, heads, label)} for score, heads in trees]
    return _line(sentence, words, {**_arcs(words, trees[0].heads, label), "trees": ranked}, ())


def _arcs(words: Sequence[str], heads: Sequence[int], label: Relations | None) -> dict[str, Any]:
    return {"arcs": list(heads), "relations": label(words, heads)} if label else {"arcs": list(heads)}


def _spans(tree: Tree) -> dict[str, Any]:
    has_labels = any(label != "X" for label in tree.labels)
    return {"spans": tree.spans, "labels": tree.labels} if has_labels else {"spans": tree.spans}


def _line(sentence: Sentence, words: Sequence[str], parts: dict[str, Any], confidences: Confidences) -> str:
    """A line of JSON with the ``parts`` of the analysis and the origin of the sentence.

    ``line`` is the line number in the file. For raw text, ``offsets`` are the character positions of each word in the
    file. For CoNLL-U, ``id`` and ``document`` are the values of the comments ``sent_id`` and ``newdoc id``.
    """
    value: dict[str, Any] = {"words": words, **parts, "line": sentence.location.line}
    mean = mean_confidence(confidences)
    if mean is not None:
        value |= {"confidence": mean, "confidences": confidences}
    if sentence.surface and len(words) == len(sentence.words):
        value["offsets"] = sentence.surface.offsets()
    if sentence.annotation:
        known = {"id": sentence.annotation.comment("sent_id"), "document": sentence.document}
        value |= {name: text for name, text in known.items() if text}
    return json_text(value)


def with_confidence_labels(parsed: ConfidentTree) -> Tree:
    """The tree with the confidence of each bracket appended to its label: ``X=0.93``.

    Labels of brackets without a confidence are unchanged.
    """
    pairs = zip(parsed.tree.labels, parsed.confidences, strict=True)
    labels = [label if value is None else f"{label}={value:.{DECIMALS}f}" for label, value in pairs]
    return replace(parsed.tree, labels=tuple(labels))


def confidence_notes(confidences: Confidences) -> list[str]:
    """The entry in MISC for each word, ``Confidence=0.93``, or "" if there is no confidence."""
    return ["" if value is None else f"Confidence={value:.{DECIMALS}f}" for value in confidences]
