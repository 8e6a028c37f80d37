"""Heads from Penn trees by head rules: three tables and their treatment of coordination. Without recursion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

from treebank.base.arguments import nearest
from treebank.base.errors import SynparseError, UnknownNameError
from treebank.core.dependency import Heads
from treebank.core.sentence import ALL_PUNCTUATION_TAGS, PENN_TAGS, ROOT, UNIVERSAL_PUNCTUATION, bare_label, is_word
from treebank.core.tree import Tree

# One line a phrase: what to look for, in order, until a child is found. ``> A B|C`` means the leftmost A, else the
# leftmost B or C; ``<`` the rightmost. ``*`` is any child. Punctuation is looked at only where there is nothing else.

# Collins 1999, appendix A, its rules for noun phrases as the lines NP, NML and NX
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

# Yamada & Matsumoto 2003, as the converter Penn2Malt takes them: Collins's searches from the other side, but for these
YAMADA_MATSUMOTO = (
    COLLINS.translate(str.maketrans("<>", "><"))
    + """\
NML     < *
NP      < POS|NN|NNP|NNPS|NNS NX JJR CD JJ JJS RB QP NP *
NX      < POS|NN|NNP|NNPS|NNS NX JJR CD JJ JJS RB QP NP *
VP      > VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP *
"""
)

# Content words are heads of auxiliaries, "to" and complementisers, but copulas and prepositions of what follows: basic
# Stanford dependencies as the converter of ClearNLP makes them, from whose output these lines were worked out
STANFORD = """
ADJP    < JJ|JJR|JJS|VBN|VBG|VBD|NN|NNS|NNP ADJP IN RB|ADVP CD|QP NP *
ADVP    < RB|RBR|RBS|JJ|JJR|WRB ADVP IN NN CD RP NP *
CONJP   > CC < IN RB *
FRAG    < VP NP|NN|NNS|NNP|S|SBAR PP ADJP ADVP *
INTJ    > UH VB NN *
LST     > LS CD *
NAC     < NN|NNS|NNP|NNPS NP *
NML     < NN|NNS|NNP|NNPS > NML < CD|NP|QP|JJ|VBG|VBN *
NP      < NN|NNS|NNP|NNPS|NML > NP < NX PRP FW CD QP|JJ|JJR|JJS|VBG|VBN ADJP S SBAR *
NX      < NN|NNS|NNP|NNPS > NX|NML|NP *
PP      > TO IN VBG|VBN RP PP NP JJ RB *
PRN     < VP NP|NN|NNS|NNP S SBAR PP *
PRT     > RP *
QP      < CD NN|NNS $ JJR|RBR JJ *
RRC     > VP VBN|VBG NP ADJP ADVP PP *
S       > VP < S|SINV|SQ SBAR ADJP NP PP *
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

NO_LABELS = "trees have no labels, so no head rule fits and heads are arbitrary"
DEFAULT_RULES = "collins"
CONJUNCTIONS = frozenset({"CC", "CONJP"})
PUNCTUATION = ALL_PUNCTUATION_TAGS | {UNIVERSAL_PUNCTUATION}
# what can be coordinated with what, by how a label begins; all else with the same label
_KINDS = ("NN NP NM NX PR CD QP FW", "VB VP MD", "IN TO PP", "JJ AD RB", "S SB SI SQ")
_KIND = {beginning: kind for kind in _KINDS for beginning in kind.split()}
Children = Sequence[tuple[int, str]]  # index among the children of a phrase, and label


@dataclass(frozen=True, eq=False, slots=True)
class HeadRules:
    """Rules for the head child of a phrase and for the child on which each other one depends.

    ``table`` has the searches for the head of each phrase, in order: whether to search from the right, and the labels
    that are accepted. ``coordination``: ``nothing`` treats conjunctions like other children; with ``child before``, the
    child before a conjunction is the head instead of the child after it; in a ``chain``, each conjunct depends on the
    conjunct before it, and so do conjunctions and commas.
    """

    name: str
    table: Mapping[str, Sequence[tuple[bool, frozenset[str]]]]
    coordination: Literal["nothing", "child before", "chain"]

    @classmethod
    def parse(cls, name: str, text: str, coordination: Literal["nothing", "child before", "chain"]) -> HeadRules:
        """Rules from a text with one line per phrase, in the notation of the tables of this module."""
        table = {}
        for line in text.strip().splitlines():
            phrase, *goals = line.split()
            searches = []
            for goal in goals:
                if goal in "<>":
                    from_right = goal == "<"
                else:
                    searches.append((from_right, frozenset(goal.split("|"))))
            table[phrase] = searches
        return cls(name, table, coordination)

    def arcs(self, phrase: str, labels: tuple[str, ...]) -> tuple[int, ...]:
        """For each child of a phrase, the index of the child that it depends on, or ``ROOT`` for the head."""
        everyone = list(enumerate(labels))
        children = [child for child in everyone if child[1] not in PUNCTUATION] or everyone
        if self.coordination == "chain" and (conjuncts := self.conjuncts(phrase, labels)):
            return _chain(conjuncts, len(labels))
        head = self.head(phrase, children)
        at = children.index((head, labels[head]))
        if self.coordination == "child before" and at > 1 and children[at - 1][1] == "CC":
            head = children[at - 2][0]
        return tuple(ROOT if i == head else head for i in range(len(labels)))

    def head(self, phrase: str, children: Children) -> int:
        """The index of the head among these children."""
        for from_right, goals in self.table.get(phrase, self.table["*"]):
            for index, label in reversed(children) if from_right else children:
                if label in goals or "*" in goals:
                    return index
        raise AssertionError("every line of a table ends in *")

    def conjuncts(self, phrase: str, labels: Sequence[str]) -> list[tuple[int, int]]:
        """Start and head of each conjunct of a phrase, or an empty list for fewer than two conjuncts.

        Conjunctions and punctuation divide the phrase into parts. The part after the last conjunction is a conjunct,
        and so are the earlier parts whose heads have a tag of the same class, such as nouns.
        """
        last = max((i for i, label in enumerate(labels) if label in CONJUNCTIONS), default=0)
        parts: list[list[tuple[int, str]]] = [[]]
        for i, label in enumerate(labels):
            if label not in CONJUNCTIONS and label not in PUNCTUATION:
                parts[-1].append((i, label))
            elif parts[-1]:
                parts.append([])
        conjuncts = [(part[0][0], self.head(phrase, part)) for part in parts if part]
        closing = next((head for start, head in conjuncts if start > last), None)
        if not last or closing is None:
            return []
        same = [
            (start, head)
            for start, head in conjuncts
            if head <= closing and (phrase == "UCP" or _kind(labels[head]) == _kind(labels[closing]))
        ]
        return same if len(same) > 1 else []


def _chain(conjuncts: Sequence[tuple[int, int]], count: int) -> tuple[int, ...]:
    """Arcs among ``count`` children: each conjunct depends on the one before it, other children on their conjunct."""
    arcs = [conjuncts[0][1]] * count
    before = ROOT
    for start, head in conjuncts:
        arcs[start:] = [head] * (count - start)
        arcs[head], before = before, head
    return tuple(arcs)


def _kind(label: str) -> str:
    return _KIND.get(label[:2], label)


_arcs = lru_cache(maxsize=1 << 16)(HeadRules.arcs)

HEAD_RULES = {
    rules.name: rules
    for rules in (
        HeadRules.parse("collins", COLLINS, "child before"),
        HeadRules.parse("yamada-matsumoto", YAMADA_MATSUMOTO, "nothing"),
        HeadRules.parse("stanford", STANFORD, "chain"),
    )
}


def find_rules(name: str) -> HeadRules:
    """The head rules with this name. Raises UnknownNameError with the nearest name if it is unknown."""
    if name not in HEAD_RULES:
        raise UnknownNameError(f"no head rules {name!r}; {nearest(name, HEAD_RULES)}")
    return HEAD_RULES[name]


def heads_from_tree(tree: Tree, rules: str = DEFAULT_RULES) -> Heads:
    """The heads of the words of a tree without traces. There is one root, and no arcs cross.

    Each phrase has a head child, which ``rules`` choose; the heads of the other children depend on its head.

    >>> heads_from_tree(Tree.from_text("(S (NP (DT the) (NN man)) (VP (VBZ sleeps)))"))
    (1, 2, -1)
    """
    tree = with_punctuation_tags(tree)
    heads = [ROOT] * len(tree)
    for attachment in attachments(tree, rules):
        heads[attachment.word] = attachment.head
    return tuple(heads)


def check_labels(trees: Iterable[Tree | None], name: str) -> None:
    """Raise SynparseError if there are trees in ``name`` that need head rules and none of them has labels."""
    present = [tree for tree in trees if tree is not None]
    if present and all(tree == tree.without_labels() for tree in present):
        raise SynparseError(f"{name}: these {NO_LABELS}; give trees with labels, or heads")


def with_punctuation_tags(tree: Tree) -> Tree:
    """The tree without traces, with the tag ``PUNCT`` for punctuation marks that have no tag of the Penn Treebank."""
    tree = tree.without_traces()
    if PENN_TAGS.issuperset(tree.tags):
        return tree
    tags = [
        tag if plain_label(tag) in PENN_TAGS or is_word(word) else UNIVERSAL_PUNCTUATION
        for word, tag in zip(tree.words, tree.tags, strict=True)
    ]
    return replace(tree, tags=tuple(tags))


class Attachment(NamedTuple):
    """A child of a phrase that depends on another one.

    ``word`` heads the child, ``head`` the other one. ``child`` is the node of the child, of all brackets in pre-order
    and then all words. ``parent`` is the bracket of the phrase, or `ROOT`.
    """

    word: int
    head: int
    child: int
    parent: int


def attachments(tree: Tree, rules: str) -> Iterator[Attachment]:
    """The dependent children of all phrases of a tree, by these head rules, from the last phrase on.

    The tree is one of `with_punctuation_tags`.
    """
    chosen, count = find_rules(rules), len(tree.spans)
    if not tree.words:
        return
    head_of = [*[ROOT] * count, *range(len(tree))]  # the word that heads each node
    names = (*tree.labels, *tree.tags)
    *children, tops = tree.children()
    for k, nodes in [*reversed(list(enumerate(children))), (ROOT, tops)]:
        words = [head_of[node] for node in nodes]
        labels = tuple(plain_label(names[node]) for node in nodes)
        phrase = plain_label(tree.labels[k]) if k != ROOT else ""
        for word, node, governor in zip(words, nodes, _arcs(chosen, phrase, labels), strict=True):
            if governor != ROOT:
                yield Attachment(word, words[governor], node, k)
            elif k != ROOT:
                head_of[k] = word


@lru_cache(maxsize=1 << 12)
def plain_label(label: str) -> str:
    """The label as in the tables: without function tags, and only the first of a double label such as ``PRT|ADVP``."""
    return bare_label(label).partition("|")[0]
