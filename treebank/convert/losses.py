"""Parts of the annotation that a conversion loses, because the new format cannot express them.

Heads that head rules derive from trees without labels are reported as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from treebank.core.sentence import Sentence
from treebank.core.tree import TRACE
from treebank.io.conllu_writer import NO_TAGS

_DEFAULT_LABELS = {"", "X"}


def _tree_tags(sentence: Sentence) -> Any:
    return sentence.tags if sentence.tree is None else sentence.tree.tags


#: part of the annotation -> whether a sentence has it
PARTS: dict[str, Callable[[Sentence], bool]] = {
    "trees": lambda sentence: sentence.tree is not None and len(sentence.words) > 1,
    "labels": lambda sentence: sentence.tree is not None and not _DEFAULT_LABELS.issuperset(sentence.tree.labels),
    "tags": lambda sentence: not NO_TAGS.issuperset(_tree_tags(sentence)) and sentence.annotation is None,
    "empty elements": lambda sentence: sentence.tree is not None and TRACE in sentence.tree.tags,
    "heads": lambda sentence: bool(sentence.heads),
    "relations": lambda sentence: any(sentence.relations),
    "confidences": lambda sentence: any(value is not None for value in sentence.confidences),
}
_OF_TREES = frozenset(["trees", "labels", "tags", "empty elements"])
#: name of a writer -> parts that it keeps; nothing is reported for words and distances, which keep little on purpose
KEPT = {
    "text": frozenset(PARTS),
    "brackets": _OF_TREES,
    "spans": _OF_TREES,
    "distances": frozenset(PARTS),
    "path-lengths": frozenset(PARTS),
    "conllu": frozenset(["tags", "heads", "relations"]),
    "negra": _OF_TREES,
    "tiger": _OF_TREES,
}


def _is_left_out(sentence: Sentence, to: str) -> bool:
    """Whether the writer ``to`` leaves out the sentence because it has no words, or not even empty elements."""
    if to in ("negra", "tiger"):
        return sentence.tree is not None and not sentence.tree.words
    return to == "conllu" and not sentence.words


def _needs_labels(sentence: Sentence) -> bool:
    """Whether heads would be derived from a tree without labels and tags."""
    if sentence.tree is None or sentence.heads or not sentence.words:
        return False
    return sentence.tree == sentence.tree.without_labels()


class Losses:
    """Counts the sentences that the format ``to`` leaves out, and those that lose a part of their annotation."""

    def __init__(self, to: str) -> None:
        self.to = to
        self.counts: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._without_words = self._without_labels = 0

    def __call__(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences, counted as they pass."""
        parts = [(name, has_part) for name, has_part in PARTS.items() if name not in KEPT[self.to]]
        for sentence in sentences:
            self.counts.update(name for name, has_part in parts if has_part(sentence))
            self._dropped.update(sentence.annotation.dropped if sentence.annotation else ())
            self._without_words += _is_left_out(sentence, self.to)
            self._without_labels += self.to == "conllu" and _needs_labels(sentence)
            yield sentence

    def report(self) -> Iterator[str]:
        """Lines about sentences that are left out, losses by the new format, other losses, and missing labels."""
        if count := self._without_words:
            yield f"sentences without words are left out, because the format {self.to} has none: {count:,}"
        if self.counts:
            parts = ", ".join(f"{name} of {self.counts[name]:,}" for name in PARTS if self.counts[name])
            yield f"the format {self.to} does not keep these parts of sentences: {parts}"
        if self._dropped:
            parts = ", ".join(f"{name} of {count:,}" for name, count in sorted(self._dropped.items()))
            yield f"these parts of sentences are left out: {parts}"
        if self._without_labels:
            yield (
                f"{self._without_labels:,} trees have no labels, so no head rule fits and heads are arbitrary; "
                "models of heads predict them: synparse parse --format conllu"
            )
