"""Dependency trees as heads, and heads from Penn trees by head rules. No recursion.

``heads[i]`` is the index of word i's head, ``ROOT`` for a root.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from treebank.errors import SynparseError, nearest
from treebank.sentence import ROOT
from treebank.tree import Tree

Heads = tuple[int, ...]


def roots(heads: Sequence[int]) -> list[int]:
    """The words without a head, in order."""
    return [i for i, head in enumerate(heads) if head == ROOT]


def is_tree(heads: Sequence[int]) -> bool:
    """Whether there is exactly one root and every word leads up to it."""
    n = len(heads)
    if len(roots(heads)) != 1 or not all(ROOT <= head < n for head in heads):
        return False
    seen = [0] * n  # the walk that came by here first
    for walk in range(1, n + 1):
        i = walk - 1
        while i != ROOT and not seen[i]:
            seen[i] = walk
            i = heads[i]
        if i != ROOT and seen[i] == walk:
            return False
    return True


def is_projective(heads: Sequence[int]) -> bool:
    """Whether no two arcs cross, drawn above the words; that of a root comes from before the first word."""
    arcs = sorted((min(i, head), -max(i, head)) for i, head in enumerate(heads))
    ends: list[int] = []  # of the arcs that are still open, the innermost last
    for start, end in arcs:
        while ends and ends[-1] <= start:
            ends.pop()
        if ends and -end > ends[-1]:
            return False
        ends.append(-end)
    return True


# --- head rules
# One line a phrase: what to look for, in order, until a child is found. ``> A B|C`` means the leftmost A, else the
# leftmost B or C; ``<`` the rightmost. ``*`` is any child. Punctuation is looked at only where there is nothing else.

# Collins 1999, appendix A; the first line of NP is the rule for possessives
COLLINS = """
ADJP    > NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB *
ADVP    < RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN *
CONJP   < CC RB IN *
FRAG    < *
INTJ    > *
LST     < LS : *
NAC     > NN|NNS|NNP|NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW *
NP      < NN|NNP|NNPS|NNS|NX|NML|POS|JJR > NP < $|ADJP|PRN CD JJ|JJS|RB|QP *
NML     < NN|NNP|NNPS|NNS|NX|NML|POS|JJR > NP < $|ADJP|PRN CD JJ|JJS|RB|QP *
NX      < NN|NNP|NNPS|NNS|NX|NML|POS|JJR > NP < $|ADJP|PRN CD JJ|JJS|RB|QP *
PP      < IN TO VBG VBN RP FW *
PRN     > *
PRT     < RP *
QP      > $ IN NNS NN JJ RB DT CD QP JJR JJS *
RRC     < VP NP ADVP ADJP PP *
S       > TO IN VP S SBAR ADJP UCP NP *
SBAR    > WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG *
SBARQ   > SQ S SINV SBARQ FRAG *
SINV    > VBZ VBD VBP VB MD VP S SINV ADJP NP *
SQ      > VBZ VBD VBP VB MD VP SQ *
UCP     < *
VP      > TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP *
WHADJP  > CC WRB JJ ADJP *
WHADVP  < CC WRB *
WHNP    > WDT WP WP$ WHADJP WHPP WHNP *
WHPP    < IN TO FW *
*       > *
"""

# Yamada & Matsumoto 2003, searched from the sides that the program Penn2Malt takes
YAMADA_MATSUMOTO = """
ADJP    < NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB *
ADVP    > RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN *
CONJP   > CC RB IN *
FRAG    > *
INTJ    < *
LST     > LS : *
NAC     < NN|NNS|NNP|NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW *
NP      < POS|NN|NNP|NNPS|NNS NX JJR CD JJ JJS RB QP NP *
NX      < POS|NN|NNP|NNPS|NNS NX JJR CD JJ JJS RB QP NP *
PP      > IN TO VBG VBN RP FW *
PRN     < *
PRT     > RP *
QP      < $ IN NNS NN JJ RB DT CD QP JJR JJS *
RRC     > VP NP ADVP ADJP PP *
S       < TO IN VP S SBAR ADJP UCP NP *
SBAR    < WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG *
SBARQ   < SQ S SINV SBARQ FRAG *
SINV    < VBZ VBD VBP VB MD VP S SINV ADJP NP *
SQ      < VBZ VBD VBP VB MD VP SQ *
UCP     > *
VP      > VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP *
WHADJP  < CC WRB JJ ADJP *
WHADVP  > CC WRB *
WHNP    < WDT WP WP$ WHADJP WHPP WHNP *
WHPP    > IN TO FW *
*       < *
"""

STANFORD = """
ADJP    < JJ|JJR|JJS|VBN|VBG|VBD|NN|NNS|NNP ADJP IN RB|ADVP CD|QP NP *
ADVP    < RB|RBR|RBS|JJ|JJR|WRB ADVP IN NN CD RP NP *
CONJP   > CC RB IN *
FRAG    > VP NP|NN|NNS|NNP|S|SBAR PP ADJP ADVP *
INTJ    > UH VB NN *
LST     > LS CD *
NAC     < NN|NNS|NNP|NNPS NP *
NML     < NN|NNS|NNP|NNPS|NML CD|NP|QP|JJ|VBG|VBN *
NP      < NN|NNS|NNP|NNPS|NML NX PRP FW CD > NP < QP|JJ|JJR|JJS|VBG|VBN ADJP S SBAR *
NX      < NN|NNS|NNP|NNPS|NML NX > NP *
PP      > TO IN VBG|VBN RP PP NP JJ RB *
PRN     > VP NP|NN|NNS|NNP S SBAR PP *
PRT     > RP *
QP      < CD NN|NNS $ JJR|RBR JJ *
RRC     > VP VBN|VBG NP ADJP ADVP PP *
S       > VP S|SINV|SQ SBAR ADJP NP PP *
SBAR    > S|SQ|SINV|SBAR VP NP ADJP FRAG IN *
SBARQ   > SQ S|SINV SBARQ VP *
SINV    > VP VBZ|VBD|VBP|VB|MD S|SINV ADJP PP NP *
SQ      > VP VBZ|VBD|VBP|VB|MD SQ S *
UCP     > *
VP      > VP VB|VBD|VBG|VBN|VBP|VBZ TO|MD NN|NNS ADJP NP *
WHADJP  < JJ|VBN|VBG ADJP WRB *
WHADVP  < WRB RB *
WHNP    < NN|NNS|NNP|NNPS|NML NP WHNP WP|WDT|WP$ CD JJ WHADJP *
WHPP    > IN TO *
*       > *
"""

PUNCTUATION = frozenset({".", ",", ":", "``", "''", '"', "-LRB-", "-RRB-", "HYPH", "NFP"})


@dataclass(frozen=True, eq=False, slots=True)
class HeadRules:
    """Which child of a phrase holds its head.

    ``table`` has for each phrase what to look for: from the right or not, and labels of which any will do.
    ``coordination``: what becomes of a head that a conjunction precedes: ``flat`` (nothing), ``first`` (the child
    before the conjunction is the head instead).
    """

    name: str
    table: Mapping[str, Sequence[tuple[bool, frozenset[str]]]]
    coordination: str

    @classmethod
    def parse(cls, name: str, text: str, *, coordination: str = "flat") -> HeadRules:
        """Rules from one line a phrase, as above."""
        table = {}
        for line in text.strip().splitlines():
            label, *goals = line.split()
            searches = []
            for goal in goals:
                if goal in "<>":
                    from_right = goal == "<"
                else:
                    searches.append((from_right, frozenset(goal.split("|"))))
            table[label] = searches
        return cls(name, table, coordination)

    def search(self, phrase: str, children: Sequence[tuple[int, str]]) -> int:
        """The place of the head among the children, given as (place, label)."""
        for from_right, goals in self.table.get(phrase, self.table["*"]):
            for place, label in reversed(children) if from_right else children:
                if label in goals or "*" in goals:
                    return place
        raise AssertionError("every line ends in *")

    def arcs(self, phrase: str, labels: tuple[str, ...]) -> tuple[int, ...]:
        """For each child of a phrase the place of the one that it depends on; ``ROOT`` for the head."""
        children = [(i, label) for i, label in enumerate(labels) if label not in PUNCTUATION]
        if not children:
            children = list(enumerate(labels))
        head = self.search(phrase, children)
        if self.coordination == "first":
            at = [i for i, _ in children].index(head)
            if at >= 2 and children[at - 1][1] == "CC":
                head = children[at - 2][0]
        return tuple(ROOT if i == head else head for i in range(len(labels)))


_arcs = lru_cache(maxsize=1 << 16)(HeadRules.arcs)

HEAD_RULES = {
    rules.name: rules
    for rules in (
        HeadRules.parse("collins", COLLINS, coordination="first"),
        HeadRules.parse("yamada-matsumoto", YAMADA_MATSUMOTO),
        HeadRules.parse("stanford", STANFORD, coordination="first"),
    )
}


def find_rules(name: str) -> HeadRules:
    """The head rules of that name. Raises SynparseError, naming the nearest, if there are none."""
    if name not in HEAD_RULES:
        raise SynparseError(f"no head rules {name!r}; {nearest(name, HEAD_RULES)}")
    return HEAD_RULES[name]


def heads_from_tree(tree: Tree, rules: str = "collins") -> Heads:
    """The heads of the words of a tree, traces left out; one root, and no arcs that cross.

    Each phrase has a head child by the rules named; the heads of the other children depend on its head.
    """
    chosen, tree = find_rules(rules), tree.without_traces()
    heads = [ROOT] * len(tree)
    head_of = [0] * len(tree.spans)  # the word that heads each bracket
    children = _children(tree)
    for k in reversed(range(len(children))):  # the sentence as a whole comes first in the list, and so last here
        words = [head_of[child] if child >= 0 else ~child for child in children[k]]
        labels = tuple(tree.labels[child] if child >= 0 else tree.tags[~child] for child in children[k])
        phrase = tree.labels[k - 1] if k else ""
        for word, governor in zip(words, _arcs(chosen, _bare(phrase), tuple(map(_bare, labels))), strict=True):
            if governor != ROOT:
                heads[word] = words[governor]
            elif k:
                head_of[k - 1] = word
    return tuple(heads)


def _children(tree: Tree) -> list[list[int]]:
    """The children of the sentence as a whole, then of each bracket: k for bracket k, ``~i`` for word i."""
    children: list[list[int]] = [[] for _ in range(len(tree.spans) + 1)]
    open_brackets, k = [0], 0
    ends = [len(tree), *(end for _, end in tree.spans)]
    for i in range(len(tree)):
        while ends[open_brackets[-1]] <= i:
            open_brackets.pop()
        while k < len(tree.spans) and tree.spans[k].start == i:
            children[open_brackets[-1]].append(k)
            k += 1
            open_brackets.append(k)
        children[open_brackets[-1]].append(~i)
    return children


@lru_cache(maxsize=1 << 12)
def _bare(label: str) -> str:
    """The label without function tags and indices: ``NP`` of ``NP-SBJ=2``, ``PRT`` of ``PRT|ADVP``."""
    return label if label.startswith("-") else label.partition("-")[0].partition("=")[0].partition("|")[0]
