"""Checks of trees and sentences while a file is read: trees of another format, and signs of damage.

Trees that are evidently of another format are refused (`treebank.io.content`). Signs of damage in valid sentences are
reported in notes at the end of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from treebank.base.errors import TreebankError
from treebank.core.brackets import shorten
from treebank.core.sentence import PENN_TAGS
from treebank.core.tree import Tree
from treebank.io.content import AS_BRACKETS, CORPUSSEARCH_MARKS, leaves_problem, share
from treebank.io.lines import LOOK_AHEAD

MAX_CHECKED_TREES = 100  # of a file, at equal distances, which takes less time than all of them
MAX_INCOMPLETE_SHARE = 0.5  # sentences with untagged words per sentence without them; see `TreeChecks`
MAX_UNTAGGED_SHARE = 0.05  # untagged words per word, in a file of a few sentences
_PHRASES = frozenset(("NP", "VP", "PP", "ADJP", "ADVP", "SBAR"))  # labels in trees that have lost their words
OF_CORPUSSEARCH = "the format is that of CorpusSearch"
MAX_IDS = 100_000  # ids of one document that are compared
REPEATED_ID = "this sentence has the id of an earlier one; is a part of the file repeated?"
OTHER_TEXT = "the words are not those of # text; is a line lost, repeated or changed?"

INNER_MARK = "a word of this sentence contains a byte-order mark (U+FEFF), as at the joints of concatenated files"
COMMENTS_ALONE = "comments of a sentence without words, which are left out; are the words of the sentence lost?"
COMMENT_INSIDE = "a comment inside of a sentence, which now precedes its words"
NO_HEAD = "a word of this sentence has no head (_), so the sentence is read without heads"
OUTER_SPACE = "a word of this sentence begins or ends with a space"


class TreeChecks:
    """Checks of the trees of one file, and counts of words without tags, which are reported if they are exceptions.

    The trees are checked after the first `LOOK_AHEAD` and at the end if ``is_checked`` is true.

    Such words may be text that does not belong to a tree, such as the marks of a merge conflict, or a label that has
    lost its bracket.
    """

    def __init__(self, path: str, notify: Callable[[str], None], *, is_checked: bool = False) -> None:
        self._path, self._notify, self._is_checked = path, notify, is_checked
        self._count = self._complete = self._incomplete = self._words = self._untagged = 0
        self._first = ("", 0)
        self._sample: list[Tree] = []
        self._distance = 1  # of the trees of the sample

    def add(self, tree: Tree, line: int) -> None:
        """Count the words of a tree that starts in ``line``."""
        self._count += 1
        if self._count == LOOK_AHEAD:
            self.check()
        if not self._count % self._distance:
            self._sample.append(tree)
            if len(self._sample) > 2 * MAX_CHECKED_TREES:
                self._sample = self._sample[1::2]
                self._distance *= 2
        self._words += len(tree.words)
        if "" not in tree.tags:
            self._complete += 1
        elif any(tree.tags) or len(tree.words) == 1:
            if not self._incomplete:
                self._first = (tree.words[tree.tags.index("")], line)
            self._incomplete += 1
            self._untagged += tree.tags.count("")

    def check(self) -> None:
        """Raises TreebankError if the trees so far are evidently of another format."""
        if self._is_checked:
            check_trees(self._path, self._sample)

    def report(self) -> None:
        """Check all trees, and report the first word without a tag if there are few."""
        if self._count > LOOK_AHEAD:  # else the caller has checked them
            self.check()
        has_few = self._incomplete <= MAX_INCOMPLETE_SHARE * self._complete
        if self._incomplete and (has_few or self._untagged <= MAX_UNTAGGED_SHARE * self._words):
            word, line = self._first
            self._notify(f"{self._path}:{line}: {shorten(word)} has no tag, unlike most words; is it out of place?")


def check_trees(path: str, trees: Sequence[Tree]) -> None:
    """Raises TreebankError if ``trees``, a sample of a file in brackets, are evidently of another format."""
    sample = trees[:: 1 + len(trees) // MAX_CHECKED_TREES]
    words = [*chain.from_iterable(tree.words for tree in sample)]
    names = set().union(*(tree.labels for tree in sample), *(tree.tags for tree in sample))
    problem = leaves_problem(words)
    if marks := sorted(names & CORPUSSEARCH_MARKS):
        problem = f"{OF_CORPUSSEARCH} (a node {marks[0]}); give --input-format corpussearch"
    categories = {name for name in names | PENN_TAGS | _PHRASES if len(name) > 1 and name.isupper() and name.isalnum()}
    are_labels = [] if categories.isdisjoint(words) else [word for word in words if word in categories]
    if not problem and len(are_labels) > 0.5 * len(words):
        example = share(len(are_labels), len(words), "words", are_labels[0])
        problem = f"the leaves are labels, so these trees have no words ({example})"
    if problem:
        raise TreebankError(path, 0, f"{problem}; {AS_BRACKETS}")


class DamageSigns:
    """Signs of damage in one file: the first line and the count of each type."""

    def __init__(self, path: str, notify: Callable[[str], None]) -> None:
        self._path, self.notify = path, notify
        self._lines: dict[str, list[int]] = {}  # sign -> first line, count
        self._ids: set[str] = set()
        self._number = 0

    def add(self, sign: str, line: int) -> None:
        """Count a sign of damage."""
        self._lines.setdefault(sign, [line, 0])[1] += 1

    def add_id(self, name: str, line: int) -> None:
        """Count `REPEATED_ID` if a sentence of this document has the id ``name`` already."""
        if name in self._ids:
            self.add(REPEATED_ID, line)
        elif len(self._ids) < MAX_IDS:
            self._ids.add(name)

    def add_number(self, digits: str, line: int, name: str = "") -> None:
        """Like ``add_id`` for ``name``, by default ``digits``, whose number begins a new document if it is smaller."""
        number = int(digits) if digits.isdecimal() else self._number
        if number < self._number:
            self.begin_document()
        self._number = number
        self.add_id(name or digits, line)

    def begin_document(self) -> None:
        """Forget the ids, which may occur again in another document."""
        self._ids.clear()

    def report(self) -> None:
        """Report each sign with its first line and the number of further lines."""
        for sign, (line, count) in self._lines.items():
            more = f" ({count - 1:,} more like this)" if count > 1 else ""
            self.notify(f"{self._path}:{line}: {sign}{more}")
