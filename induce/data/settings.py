"""Settings of the text that a model learns from."""

from __future__ import annotations

from dataclasses import dataclass

from induce.data.normalization import RECIPES
from induce.data.tokens import TOKENS
from induce.setting import count, setting, share
from treebank.tokenize import TOKENIZATIONS

TEXT = "task.reads_text=true"  # condition: the run learns from text
FREQUENT = f"{TEXT} and data.vocabulary="  # condition: the vocabulary consists of frequent tokens


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Settings of the text: normalization, tokens, vocabulary and the share to learn from."""

    normalization: str = setting("words", choices=tuple(RECIPES), when=TEXT, help="normalization recipe")
    tokenization: str = setting(
        "",
        choices=("", *TOKENIZATIONS),
        when=TEXT,
        help="rule that splits raw text into sentences and words, in training and parsing; empty: the text is split",
    )
    token: str = setting(
        "word",
        choices=tuple(TOKENS),
        when=TEXT,
        help="unit of the model: words; classes of words, induced from the training corpus; or characters",
    )
    classes: int = setting(40, at_least=1, at_most=10_000, when="data.token=class", help="number of word classes")
    vocabulary_size: int = setting(
        10_000, at_least=3, at_most=1e9, when=FREQUENT, help="size of the vocabulary, with two special tokens"
    )
    minimum_count: int = count(2, "occurrences below which a token is unknown", when=FREQUENT)
    vocabulary: str = setting(
        "", when=f"{TEXT} and data.token!=class", help="file with one known token per line; empty: frequent tokens"
    )
    unknown: str = setting(
        "one",
        choices=("one", "shape", "berkeley"),
        when=f"{FREQUENT} and data.token!=class",
        help="symbols for unknown words: one; one for each shape and suffix; or the classes of the Berkeley parser",
    )
    text_share: float = share(1.0, "share of the training sentences to learn from, evenly spread", when=TEXT)
    joining_marks: bool = setting(
        False,
        when="loader.name=fragments|spans",
        help="whether punctuation that occurs in repeated word pairs, such as a hyphen, joins words",
    )
    development_share: float = setting(
        0.05, at_least=0, at_most=0.5, help="share of the training sentences to set aside without a development text"
    )
    trees: str = setting(
        "gold",
        choices=("gold", "random"),
        when="model.learns_trees=true",
        help="trees to learn from; random trees are a baseline",
    )
    tree_share: float = share(1.0, "share of the treebank whose trees are used", when="model.learns_trees=true")
