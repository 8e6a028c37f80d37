"""Checks of trees and sentences while a file is read: trees of another format, and signs of damage.

Trees that are evidently of another format are refused (`treebank.io.content`). Signs of damage in valid sentences are
reported in notes at the end of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from treebank.base.errors import TreebankError
from treebank.core.brackets import AS_BARE, CORPUSSEARCH_MARKS, shorten
from treebank.core.sentence import PENN_TAGS
from treebank.core.tree import Tree
from treebank.io.content import AS_BRACKETS, leaves_problem, share
from treebank.io.lines import LOOK_AHEAD

MAX_CHECKED_TREES = 100  # of a file, at equal distances, which takes less time than all of them
MAX_INCOMPLETE_SHARE = 0.5  # sentences with untagged words per sentence without them; see `TreeChecks`
MAX_UNTAGGED_SHARE = 0.05  # untagged words per word, in a file of a few sentences
_PHRASES = frozenset(("NP", "VP", "PP", "ADJP", "ADVP", "SBAR"))  # labels in trees that have lost their words
OF_CORPUSSEARCH = "the format is that of CorpusSearch"
# In trees without labels, the first word of a bracket is read as its label, and 1,000 phrases have 300 different labels
# or more. In five treebanks, they have up to 80. The numbers separate both from 50 phrases on.
MIN_LABELED, MAX_LABELS, GROWTH = 50, 2.0, 0.7  # phrases; different labels: MAX_LABELS * phrases ** GROWTH
MAX_IDS = 100_000  # ids of one document that are compared
REPEATED_ID = "this sentence has the id of an earlier one; is a part of the file repeated?"
OTHER_TEXT = "the words are not those of # text; is a line lost, repeated or changed?"

INNER_MARK = "a word of this sentence contains a byte-order mark (U+FEFF), as at the joints of concatenated files"
COMMENTS_ALONE = "comments of a sentence without words, which are left out; are the words of the sentence lost?"
COMMENT_INSIDE = "a comment inside of a sentence, which now precedes its words"
NO_HEAD = "a word of this sentence has no head (_), so the sentence is read without heads"
OUTER_SPACE = "a word of this sentence begins or ends with a space"
SEVERAL_TREES = "this line has several trees, and each is read as a sentence; is an outer bracket missing?"


PARTLY_LABELED = f"some brackets of this tree have labels that look like words, and others none; {AS_BARE}"


class TreeChecks:
    """Checks of the trees of one file, and counts of words without tags, which are reported if they are exceptions.

    The trees are checked after the first `LOOK_AHEAD` and at the end if ``is_checked`` is true.

    Such words may be text that does not belong to a tree, such as the marks of a merge conflict, or a label that has
    lost its bracket.
    """

    def __init__(self, path: str, notify: Callable[[str], None], *, is_checked: bool = False) -> None:
        self._path, self._notify, self._is_checked = path, notify, is_checked
        self._incomplete = self._untagged = self._bare = 0
        self._first = ("", 0)
        self._mark = ""  # a node of CorpusSearch
        self._checked = 0  # the number of trees in the latest check
        self._signs = DamageSigns(path, notify)

    def watch(self, trees: Iterable[tuple[Tree, int]]) -> Iterator[tuple[Tree, int]]:
        """The ``trees``, each with its line. They are counted and checked, and at the end, exceptions are reported."""
        count = words = previous = joined = 0  # local variables, since this runs for each tree
        sample: list[Tree] = []
        distance = 1  # of the trees of the sample
        for pair in trees:
            tree, line = pair
            if line == previous != joined:
                self._signs.add(SEVERAL_TREES, line)
                joined = line
            previous = line
            count += 1
            words += len(tree.words)
            if "" in tree.tags:
                self._add_untagged(*pair)
            if (
                "" in tree.labels
                and self._is_checked
                and any(label and not label[0].isupper() for label in tree.labels)
            ):
                self._signs.add(PARTLY_LABELED, line)
            if not count % distance and self._is_checked:
                sample.append(tree)
                if count == LOOK_AHEAD > self._checked:
                    self.check(sample)
                if len(sample) > 2 * MAX_CHECKED_TREES:
                    sample, distance = sample[1::2], 2 * distance
            yield pair
        self._signs.report()
        if self._is_checked and (count > LOOK_AHEAD or self._mark):  # else the caller has checked them
            self.check(sample)
        has_few = self._incomplete <= MAX_INCOMPLETE_SHARE * (count - self._incomplete - self._bare)
        if self._incomplete and (has_few or self._untagged <= MAX_UNTAGGED_SHARE * words):
            word, line = self._first
            self._notify(f"{self._path}:{line}: {shorten(word)} has no tag, unlike most words; is it out of place?")

    def _add_untagged(self, tree: Tree, line: int) -> None:
        """Count a tree in which words have no tags, or none has."""
        if not any(tree.tags) and len(tree.words) > 1:
            self._bare += 1
        else:
            if not self._incomplete:
                self._first = (tree.words[tree.tags.index("")], line)
            self._incomplete += 1
            self._untagged += tree.tags.count("")

    def search_marks(self, tree: Tree) -> None:
        """Look for a node such as ID or CODE."""
        if not self._mark:
            self._mark = next((name for name in (*tree.tags, *tree.labels) if name in CORPUSSEARCH_MARKS), "")

    def check(self, trees: Sequence[Tree]) -> None:
        """Raises TreebankError if ``trees``, of which some are inspected, are evidently of another format."""
        self._checked = len(trees)
        problem = f"{OF_CORPUSSEARCH} (a node {self._mark}); give --input-format corpussearch" if self._mark else ""
        sample = trees[:: 1 + len(trees) // MAX_CHECKED_TREES]
        words = [*chain.from_iterable(tree.words for tree in sample)]
        names = PENN_TAGS.union(_PHRASES, *(tree.labels for tree in sample), *(tree.tags for tree in sample))
        categories = {name for name in names if len(name) > 1 and name.isupper() and name.isalnum()}
        are_labels = [] if categories.isdisjoint(words) else [word for word in words if word in categories]
        labels = [label for tree in sample for label in tree.labels if label]
        if len(labels) >= MIN_LABELED and len(set(labels)) > MAX_LABELS * len(labels) ** GROWTH:
            problem = (
                problem or f"the labels look like words: {len(labels):,} phrases have {len(set(labels)):,}; {AS_BARE}"
            )
        problem = problem or leaves_problem(words)
        if not problem and len(are_labels) > 0.5 * len(words):
            example = share(len(are_labels), len(words), "words", are_labels[0])
            problem = f"the leaves are labels, so these trees have no words ({example})"
        if problem:
            raise TreebankError(self._path, 0, f"{problem}; {AS_BRACKETS}")


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
