"""Tag sets, labels and scripts: which tokens are words, which tag set a sentence has, labels without function tags."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import repeat

from treebank.core.sentence import Sentence, Treebank
from treebank.core.tree import TRACE

_PENN_WORDS = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG VBN VBP "
    "VBZ WDT WP WP$ WRB"
)
#: The Penn Treebank's 36 tags of words. ``$``, ``#``, punctuation, ``-NONE-`` and tags of other sets are excluded.
WORD_TAGS = frozenset(_PENN_WORDS.split())
AUXILIARIES = frozenset({"AUX", "AUXG"})  # additional word tags of the automatic treebank BLLIP
PUNCTUATION_TAGS = frozenset({".", ",", ":", "``", "''", "-LRB-", "-RRB-"})
#: Punctuation tags of the Penn Treebank and those added by OntoNotes and the English Web Treebank
ALL_PUNCTUATION_TAGS = PUNCTUATION_TAGS | {'"', "HYPH", "NFP"}
EVALB_DELETED = PUNCTUATION_TAGS - {"-LRB-", "-RRB-"} | {TRACE}  # tags that EVALB deletes (COLLINS.prm)
#: All tags of treebanks in the style of the Penn Treebank
PENN_TAGS = WORD_TAGS | AUXILIARIES | ALL_PUNCTUATION_TAGS | {TRACE, *["$", "#", "ADD", "AFX", "GW", "XX"]}
UNIVERSAL_PUNCTUATION = "PUNCT"  # the tag of Universal Dependencies
#: scripts without spaces between words, as `script_of` names them
UNSPACED = frozenset(("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"))
_BRACKETS = frozenset(f"-{side}{kind}b-" for side in "lr" for kind in "rcs")  # -LRB- and similar, in lower case


@lru_cache(maxsize=1 << 17)
def is_word(token: str) -> bool:
    """Whether ``token`` is more than punctuation and symbols.

    A token with a letter or a number is a word, and so is one with a private-use or unassigned character. A token of
    punctuation and symbols (Unicode categories P and S) is not, even with combining marks, joiners, control characters
    or spaces around them: an emoji with a variation selector is still a symbol. A token of combining marks alone is a
    word, a token of invisible characters alone is not. ``-LRB-``, ``-rrb-`` and similar tokens are brackets.
    """
    if token.isalnum():
        return True
    if token.lower() in _BRACKETS:
        return False
    kinds = {unicodedata.category(character) for character in token}
    if any(kind[0] in "LN" or kind in ("Co", "Cn", "Cs") for kind in kinds):
        return True
    return any(kind[0] == "M" for kind in kinds) and not any(kind[0] in "PS" for kind in kinds)


@lru_cache(maxsize=1 << 14)
def script_of(character: str) -> str:
    """Script of a letter, the first word of its Unicode name, or "" for other characters."""
    return unicodedata.name(character, "").split(" ")[0] if character.isalpha() else ""


Strings = Sequence[str]
#: Name of a rule -> which tokens are words by their forms, treebank tags and universal tags
WORD_RULES: dict[str, Callable[[Strings, Strings, Strings], list[bool]]] = {
    "words": lambda words, tags, universal: [tag in WORD_TAGS for tag in tags],
    "words+aux": lambda words, tags, universal: [tag in WORD_TAGS or tag in AUXILIARIES for tag in tags],
    "no-punct": lambda words, tags, universal: [tag not in PUNCTUATION_TAGS for tag in tags],
    "evalb": lambda words, tags, universal: [tag not in EVALB_DELETED for tag in tags],
    "upos": lambda words, tags, universal: [tag != UNIVERSAL_PUNCTUATION for tag in universal],
    "letters": lambda words, tags, universal: [
        tag != TRACE and is_word(word) for word, tag in zip(words, tags or repeat(""), strict=False)
    ],
    "all": lambda words, tags, universal: [True] * len(words),
}
PENN_RULES = frozenset({"words", "words+aux", "no-punct"})  # rules that need the tags of the Penn Treebank


def word_mask(rule: str, words: Strings, tags: Strings, universal: Strings = ()) -> list[bool]:
    """For each token, whether it is a word by a rule in `WORD_RULES`.

    The result is shorter than ``words`` if the tags that the rule needs are missing.

    >>> word_mask("words", ["$", "5", "."], ["$", "CD", "."]), word_mask("letters", ["$", "5", "."], [])
    ([False, True, False], [False, True, False])
    """
    return WORD_RULES[rule](words, tags, universal)


def tags_are_penn(words: Sequence[str], tags: Sequence[str]) -> bool:
    """Whether the ``tags`` of a sentence, one per word, are the Penn Treebank's, so that they distinguish words.

    Every token with a letter or a digit (see ``is_word``) must have one of ``PENN_TAGS``. A short sentence with another
    tag set can pass if the two sets share these tags. This does no harm, since all its words have word tags then. The
    decision depends on this sentence alone, not on its neighbors in the file.
    """
    return PENN_TAGS.issuperset(tags) or not any(
        tag not in PENN_TAGS and is_word(word) for word, tag in zip(words, tags, strict=True)
    )


def count_other_tags(gold: Treebank) -> int:
    """Number of sentences in which some words have no tags of the Penn Treebank."""
    fitting = 0
    for sentence in gold.sentences:
        words, tags = _words_and_tags(sentence)
        fitting += tags_are_penn(words, tags) if tags else not any(map(is_word, words))
    return len(gold) - fitting


def has_penn_tags(gold: Treebank) -> bool:
    """Whether most sentences of ``gold`` have tags of the Penn Treebank. Scores use one rule for the whole treebank."""
    return 2 * count_other_tags(gold) <= len(gold)


@lru_cache(maxsize=1 << 12)
def bare_label(label: str) -> str:
    """The label without function tags and indices, ``NP`` for ``NP-SBJ=2``. ``-LRB-`` and the like are unchanged."""
    return label if label.startswith("-") else label.partition("-")[0].partition("=")[0]


def count_words(gold: Treebank) -> list[int]:
    """Number of words of each sentence by the default convention of scores."""
    rule = "words" if has_penn_tags(gold) else "letters"
    pairs = map(_words_and_tags, gold.sentences)
    return [sum(word_mask(rule if tags else "letters", words, tags)) for words, tags in pairs]


def _words_and_tags(sentence: Sentence) -> tuple[Strings, Strings]:
    """The words and tags of a sentence, with empty elements if it has a tree."""
    tree = sentence.tree
    return (sentence.words, sentence.tags) if tree is None else (tree.words, tree.tags)


def short_sentences(gold: Treebank, max_length: int | None) -> list[bool]:
    """Whether each sentence has 1 to ``max_length`` words, as `count_words` counts. Without a bound, all are true."""
    if max_length is None:
        return [True] * len(gold)
    return [0 < length <= max_length for length in count_words(gold)]
