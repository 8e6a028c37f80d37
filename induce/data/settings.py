"""Settings of the text that a model learns from."""

from __future__ import annotations

from dataclasses import dataclass

from induce.data.normalization import RECIPES
from induce.data.vocabulary import TOKENS
from induce.registry import models_of
from induce.setting import Condition, choice, count, equal, limited, setting, share, unequal
from treebank.tokenize import TOKENIZATIONS

TEXT = Condition("a task that reads text", lambda config: config.task.reads_text)
FREQUENT = TEXT & equal("data.vocabulary", "")  # the vocabulary consists of frequent tokens
LEARNS_TREES = Condition(
    "a model that learns trees", lambda config: models_of(config.task_name).get(config.model_name).learns_trees
)


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Settings of the text: normalization, tokens, vocabulary and the share to learn from."""

    normalization: str = choice("words", tuple(RECIPES), "normalization recipe", when=TEXT)
    tokenization: str = choice(
        "",
        ("", *TOKENIZATIONS),
        "rule that splits raw text into sentences and words, in training and parsing; empty: the text is split",
        when=TEXT,
    )
    token: str = choice(
        "word",
        tuple(TOKENS),
        "unit of the model: words; classes of words, induced from the training corpus; or characters",
        when=TEXT,
    )
    classes: int = limited(40, 1, 10_000, "number of word classes", when=equal("data.token", "class"))
    vocabulary_size: int = limited(10_000, 3, 1e9, "size of the vocabulary, with two special tokens", when=FREQUENT)
    minimum_count: int = count(2, "occurrences below which a token is unknown", when=FREQUENT)
    vocabulary: str = setting(
        "",
        when=TEXT & unequal("data.token", "class"),
        help="file with one known token per line; empty: frequent tokens",
    )
    unknown: str = choice(
        "one",
        ("one", "shape", "berkeley"),
        "symbols for unknown words: one; one for each shape and suffix; or the classes of the Berkeley parser",
        when=FREQUENT & unequal("data.token", "class"),
    )
    text_share: float = share(1.0, "share of the training sentences to learn from, evenly spread", when=TEXT)
    joining_marks: bool = setting(
        False,
        when=equal("loader.name", "fragments", "spans"),
        help="whether punctuation that occurs in repeated word pairs, such as a hyphen, joins words",
    )
    development_share: float = limited(
        0.05,
        0,
        0.5,
        "share of the training sentences to set aside without a development text",
        when=Condition("a task that sets examples aside", lambda config: config.task.sets_share_aside),
    )
    trees: str = choice(
        "gold", ("gold", "random"), "trees to learn from; random trees are a baseline", when=LEARNS_TREES
    )
    tree_share: float = share(1.0, "share of the treebank whose trees are used", when=LEARNS_TREES)
