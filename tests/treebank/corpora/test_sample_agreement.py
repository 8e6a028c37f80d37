"""Subjects and verbs of the built-in corpus agree, also at a distance."""

from __future__ import annotations

from collections.abc import Iterator

from nltk import Tree as NltkTree

from treebank.corpora.sample import sample_treebank

SINGULAR = {"he", "she", "it", "this", "there"}
PLURAL = {"they", "we", "you", "these"}
AGREES = {"VBZ": {"sg"}, "VBP": {"pl", "i"}, "was": {"sg", "i"}, "were": {"pl"}, "am": {"i"}, "are": {"pl"}}


def number(phrase: NltkTree) -> str:
    """``sg``, ``pl``, ``i``, or ``?`` where the noun phrase does not say."""
    children = [child for child in phrase if isinstance(child, NltkTree)]
    if any(child.label() == "NP" for child in children) and any(child.label() == "CC" for child in children):
        return "pl"
    if children[0].label() == "NP" and (len(children) == 1 or children[0][-1].label() != "POS"):
        return number(children[0])
    head = children[-1]
    word = head[0].lower()
    if word == "i":
        return "i"
    if word == "there":
        return "?"
    if word in SINGULAR or head.label() in ("NN", "NNP"):
        return "sg"
    return "pl" if word in PLURAL or head.label() == "NNS" else "?"


def finite(phrase: NltkTree) -> Iterator[NltkTree]:
    """The finite verbs of a verb phrase, one for each coordinated part."""
    if phrase[0].label() == "VP":
        for child in phrase:
            if child.label() == "VP":
                yield from finite(child)
    elif phrase[0].label() in ("VBZ", "VBP", "VBD"):
        yield phrase[0]


def pairs(tree: NltkTree) -> Iterator[tuple[NltkTree, NltkTree]]:
    """Subject and finite verb of every clause, question and subject relative."""
    for node in tree.subtrees():
        labels = [child.label() if isinstance(child, NltkTree) else "" for child in node]
        if node.label() == "S" and "VP" in labels and "NP" in labels[: labels.index("VP")]:
            subject = max(i for i in range(labels.index("VP")) if labels[i] == "NP")
            yield from ((node[subject], verb) for verb in finite(node[labels.index("VP")]))
        elif node.label() == "SQ" and "NP" in labels and labels[0] in ("VBZ", "VBP", "VBD"):
            yield node[labels.index("NP")], node[0]
        elif node.label() == "NP" and labels == ["NP", "SBAR"] and node[1][-1].label() == "S":
            clause = node[1][-1]
            if [child.label() for child in clause] == ["VP"] and node[1][0].label() == "WHNP":
                yield from ((node[0], verb) for verb in finite(clause[0]))


def test_verbs_agree_with_their_subjects() -> None:
    checked = 0
    for part in ("dev", "test"):
        for sentence in sample_treebank(part).sentences:
            assert sentence.tree is not None
            for subject, verb in pairs(sentence.tree.to_nltk()):
                allowed = AGREES.get(verb[0].lower()) or AGREES.get(verb.label())
                if allowed and (counts := number(subject)) != "?":
                    checked += 1
                    assert counts in allowed, f"{subject} ... {verb}"
    assert checked > 1000
