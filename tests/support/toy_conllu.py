"""Sentences of the toy language with heads and relations."""

from __future__ import annotations

from tests.support.tiny import sentences

LABELS = {"big": "amod", "old": "amod", "red": "amod", ".": "punct"}


def conllu(count: int = 60) -> str:
    """Sentences of the toy language with heads and relations."""
    result = []
    for sentence in sentences(count, seed=4):
        words = sentence.words
        verb, last = len(words) - 4, len(words) - 2  # (The big dog) saw (a cat) .
        lines = []
        for i, word in enumerate(words):
            head, label = {verb: (0, "root"), verb - 1: (verb + 1, "nsubj"), last: (verb + 1, "obj")}.get(i, (0, ""))
            if not label:
                head = last + 1 if verb < i < last else verb
                head, label = (verb + 1, "punct") if word == "." else (head, LABELS.get(word, "det:def"))
            lines.append("\t".join([str(i + 1), word, *"____", str(head), label, "_", "_"]) + "\n")
        result.append("".join(lines) + "\n")
    return "".join(result)
