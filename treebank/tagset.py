"""What is a word: by the tags of the Penn Treebank where a treebank has them, else by what a token is made of."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from treebank.sentence import Treebank
from treebank.tree import TRACE

_PENN_WORDS = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG VBN VBP "
    "VBZ WDT WP WP$ WRB"
)
#: The Penn Treebank's 36 tags of words. A whitelist: ``$``, ``#``, punctuation, ``-NONE-`` and other tags are out.
WORD_TAGS = frozenset(_PENN_WORDS.split())
_BRACKETS = frozenset(f"-{side}{kind}b-" for side in "lr" for kind in "rcs")  # -LRB- and its kin, in lower case
PENN_SHARE = 0.9  # below this share of Penn word tags a treebank is taken to have another tag set
AUXILIARIES = frozenset({"AUX", "AUXG"})  # further word tags, those of the automatic treebank BLLIP
JUDGED = 1000  # sentences looked at for that, all over the treebank


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


def has_penn_tags(gold: Treebank) -> bool:
    """Whether the tags of ``gold`` are those of the Penn Treebank, or a set that is hardly different."""
    return penn_share(gold) >= PENN_SHARE


def penn_share(gold: Treebank) -> float:
    """The share of the words with a letter or digit whose tag is a word tag of the Penn Treebank.

    Other tag sets have many names in common with it: German ones four fifths, by the words that carry them.
    """
    matched = words = 0
    for sentence in gold.sentences[:: 1 + len(gold) // JUDGED]:
        tree = sentence.tree
        tagged = zip(*((sentence.words, sentence.tags) if tree is None else (tree.words, tree.tags)), strict=False)
        tags = [tag for word, tag in tagged if tag != TRACE and is_word(word)]
        words += len(tags) if tree is not None or sentence.tags else sum(map(is_word, sentence.words))
        matched += sum(tag in WORD_TAGS or tag in AUXILIARIES for tag in tags)
    return matched / words if words else 1.0
