"""What tags and labels say: which tag set a sentence has, what is a word, what a label is without its additions.

Only the tags of the Penn Treebank say here what is a word. Whether a sentence has them is asked of that sentence alone,
so that nothing that is made of it depends on what stands before or behind it in a file.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from treebank.core.sentence import Treebank
from treebank.core.tree import TRACE, Tree

_PENN_WORDS = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG VBN VBP "
    "VBZ WDT WP WP$ WRB"
)
#: The Penn Treebank's 36 tags of words. A whitelist: ``$``, ``#``, punctuation, ``-NONE-`` and other tags are out.
WORD_TAGS = frozenset(_PENN_WORDS.split())
AUXILIARIES = frozenset({"AUX", "AUXG"})  # further word tags, those of the automatic treebank BLLIP
PUNCTUATION_TAGS = frozenset({".", ",", ":", "``", "''", "-LRB-", "-RRB-"})
LATER_PUNCTUATION_TAGS = frozenset({'"', "HYPH", "NFP"})  # further ones of OntoNotes and the English Web Treebank
#: All tags of treebanks in the style of the Penn Treebank, of words or not
PENN_TAGS = (
    WORD_TAGS | AUXILIARIES | PUNCTUATION_TAGS | LATER_PUNCTUATION_TAGS | {TRACE, *["$", "#", "ADD", "AFX", "GW", "XX"]}
)
UNIVERSAL_PUNCTUATION = "PUNCT"  # the tag of Universal Dependencies
_BRACKETS = frozenset(f"-{side}{kind}b-" for side in "lr" for kind in "rcs")  # -LRB- and its kin, in lower case


@lru_cache(maxsize=1 << 17)
def is_word(token: str) -> bool:
    """Whether ``token`` is more than punctuation and symbols.

    A letter or a number makes a word (so do private-use and unassigned characters, since nobody knows better).
    Punctuation and symbols (Unicode categories P and S) do not, with or without combining marks, joiners, control
    characters or spaces around them: an emoji with a variation selector is still a symbol. A token of marks alone
    counts as a word, one of invisible characters alone does not. ``-LRB-``, ``-rrb-`` and so on are brackets.
    """
    if token.isalnum():
        return True
    if token.lower() in _BRACKETS:
        return False
    kinds = {unicodedata.category(character) for character in token}
    if any(kind[0] in "LN" or kind in ("Co", "Cn", "Cs") for kind in kinds):
        return True
    return any(kind[0] == "M" for kind in kinds) and not any(kind[0] in "PS" for kind in kinds)


def tags_are_penn(words: Sequence[str], tags: Sequence[str]) -> bool:
    """Whether the ``tags`` of a sentence, one a word, are the Penn Treebank's, so that they can say what is a word.

    Every token with a letter or a digit (see ``is_word``) must carry one of ``PENN_TAGS``. A short sentence of another
    tag set may pass that has names in common with it, and loses nothing: the words among its tokens all have word tags.
    """
    return PENN_TAGS.issuperset(tags) or not any(
        tag not in PENN_TAGS and is_word(word) for word, tag in zip(words, tags, strict=True)
    )


def has_penn_tags(gold: Treebank) -> bool:
    """Whether most sentences of ``gold`` have tags of the Penn Treebank: for scores, which name one rule for all."""
    fitting = 0
    for sentence in gold.sentences:
        tree = sentence.tree
        words, tags = (sentence.words, sentence.tags) if tree is None else (tree.words, tree.tags)
        fitting += tags_are_penn(words, tags) if tags else not any(map(is_word, words))
    return 2 * fitting >= len(gold)


@lru_cache(maxsize=1 << 12)
def bare_label(label: str) -> str:
    """The label without function tags and indices: ``NP`` of ``NP-SBJ=2``; one such as ``-LRB-`` as it is."""
    return label if label.startswith("-") else label.partition("-")[0].partition("=")[0]


def words_by_tag(tree: Tree) -> list[bool]:
    """True for each leaf whose tag is one of the 36 word tags of the Penn Treebank; ``$`` and ``#`` are not."""
    return [tag in WORD_TAGS for tag in tree.tags]


def words_by_letters(tree: Tree) -> list[bool]:
    """True for each leaf that is no trace and does not consist of punctuation and symbols only."""
    return [tag != TRACE and is_word(word) for word, tag in zip(tree.words, tree.tags, strict=True)]


def count_words(gold: Treebank) -> list[int]:
    """Words of each sentence with a tree, counted as the default convention of scores does; 0 where there is none."""
    mask = words_by_tag if has_penn_tags(gold) else words_by_letters
    return [0 if sentence.tree is None else sum(mask(sentence.tree)) for sentence in gold.sentences]


def short_enough(length: int, max_length: int | None) -> bool:
    """Whether a sentence is within the bound and not empty; without a bound every sentence is."""
    return max_length is None or 0 < length <= max_length
