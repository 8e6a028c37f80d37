"""PTB-Concat-Syn: the Penn Treebank's trees over the words of the language-modelling files.

The steps and their numbers are those of Du et al. 2020, appendix A.3. In the last step, the authors repaired the
treebank by hand until it agreed with the files of Mikolov et al. 2010 token by token, and did not publish the repairs.
Here, the step is made with the user's own files (`treebank.convert.word_alignment`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

from treebank.base.errors import TreebankError
from treebank.convert.word_alignment import WordAlignment
from treebank.core.sentence import Sentence
from treebank.core.tree import TRACE, Tree

UNKNOWN, END, NUMBER = "<unk>", "</s>", "N"
VOCABULARY_SIZE = 9_999  # forms in the vocabulary, including </s>
_NUMBER = re.compile(r"[.-]*+[0-9][0-9.-]*")  # digits, with or without points and hyphens
_DELETED_BY_TAG = {"POS": "\\", "NNP": "wa"}
_PUNCTUATION = r"`` '' , . : ; - ? ! ;;- \ | ~ -lrb- -rrb- -lcb- -rcb- ( ) [ ] { } < > -- ... '"
_DELETED = frozenset(_PUNCTUATION.split())

STEPS = {  # number in the paper -> the counted changes
    1: "tokens put into lower case",
    2: f"numbers written {NUMBER}",
    3: f"$ written {NUMBER}",
    4: "tokens deleted: \\ tagged POS, wa tagged NNP",
    5: "tokens deleted: punctuation on the paper's list",
    6: "empty elements deleted",
    7: f"sentences ended with {END}",
    8: f"tokens written {UNKNOWN}",
}


def rewrite(word: str, tag: str, changed: Counter[int]) -> str | None:
    """The form of one token after steps 1 to 6, or None if it is deleted. ``changed`` counts the changes by step.

    Empty elements are deleted first, so that steps 1 to 5 count words only. This does not change the result.
    """
    if tag == TRACE:
        changed[6] += 1
        return None
    form = word.lower()
    changed[1] += form != word
    if form == _DELETED_BY_TAG.get(tag):
        changed[4] += 1
        return None
    if form in _DELETED:
        changed[5] += 1
        return None
    if _NUMBER.fullmatch(form):
        changed[2] += 1
        return NUMBER
    if form == "$":
        changed[3] += 1
        return NUMBER
    return form


def end_sentence(tree: Tree) -> Tree:
    """The tree under a new bracket ``TOP``, with ``</s>`` as its second child (step 7).

    The paper does not give the position of ``</s>`` in the tree. Here the distance before it is the largest of the
    sentence.
    """
    n = len(tree) + 1
    words, tags = (*tree.words, END), (*tree.tags, END)
    return Tree(words, tags, ((0, n), *tree.spans), ("TOP", *tree.labels))


def forms_of(sentence: Sentence, changed: Counter[int]) -> tuple[Tree, list[str | None]]:
    """The tree of a sentence and the forms of its leaves after steps 1 to 6. Raises TreebankError if it has no tree."""
    tree = sentence.tree
    if tree is None:
        problem = "this sentence has no tree; ptb-concat-syn needs trees"
        raise TreebankError(sentence.location.path, sentence.location.line, problem)
    return tree, [rewrite(word, tag, changed) for word, tag in zip(tree.words, tree.tags, strict=True)]


def count_forms(sentences: Iterable[Sentence]) -> Counter[str]:
    """Frequency of each form in the sentences after steps 1 to 7, in the order of first occurrence."""
    counts: Counter[str] = Counter()
    changed: Counter[int] = Counter()  # not used
    for sentence in sentences:
        forms = [form for form in forms_of(sentence, changed)[1] if form is not None]
        counts.update([*forms, END] if forms else [])
    return counts


@dataclass
class ConcatSyn:
    """The normalization with the most frequent forms of ``counts`` as vocabulary. It counts its changes by step.

    ``alignment`` makes the last step, if there is one.
    """

    counts: Counter[str]
    alignment: WordAlignment | None = None
    changed: Counter[int] = field(default_factory=Counter)
    read: int = 0

    def __post_init__(self) -> None:
        self.vocabulary: Collection[str] = {form for form, _ in self.counts.most_common(VOCABULARY_SIZE)}

    def __call__(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences after steps 1 to 8, or 9, streamed. Sentences without a remaining word are left out."""
        for sentence in sentences:
            self.read += 1
            tree, forms = forms_of(sentence, self.changed)
            rest = tree.keep([form is not None for form in forms])
            if not len(rest):
                continue
            rest = end_sentence(rest.with_words([form for form in forms if form is not None]))
            words = tuple(word if word in self.vocabulary else UNKNOWN for word in rest.words)
            self.changed[7] += 1
            self.changed[8] += sum(word == UNKNOWN for word in words)
            rest = replace(rest, words=words)
            yield sentence.with_tree(self.alignment(rest, sentence.location) if self.alignment else rest)
        if self.alignment:
            self.alignment.finish()

    def report(self) -> Iterator[str]:
        """The number of changes, one line per step."""
        yield "ptb-concat-syn: the steps of Du et al. 2020, appendix A.3"
        for step, description in STEPS.items():
            yield f"  {step}  {self.changed[step]:>9,} {description}"
        if self.alignment:
            yield from self.alignment.report()
        else:
            yield "  9          - manual repairs: skipped (never published; --align-with makes them with your files)"
        yield f"  vocabulary: {len(self.vocabulary):,} of {len(self.counts):,} forms, and {UNKNOWN}"
        yield f"  sentences left out, since no word remained: {self.read - self.changed[7]:,} of {self.read:,}"
