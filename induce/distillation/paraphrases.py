"""Rewards of spans that a grammar learns besides the words: from paraphrases, or from similar sentences of the text.

They are named like a teacher: ``--teacher seminfo:FILE`` for a file of paraphrases, ``--teacher seminfo`` for the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from induce.data.batches import SpanRewardBatch
from induce.data.references import SentenceRewards
from induce.data.vocabulary import RECIPES
from induce.distillation.span_information import Words, nearest_sentences, span_rewards
from induce.distillation.teachers import REWARDS, check_teachers
from induce.settings.run import RunConfig, kind_of
from induce.training.prepare import Supervision
from induce.training.request import RunRequest
from treebank.base.errors import SynparseError, TreebankError
from treebank.core.sentence import Sentence
from treebank.io.lines import open_lines

SEMINFO = "seminfo"


def check_rewards(request: RunRequest, config: RunConfig) -> None:
    """Raise SynparseError if the model cannot learn rewards of spans, or if their file is missing."""
    check_teachers(request, config)
    names = request.teachers
    for name in (name for name in names if name.partition(":")[0] == SEMINFO):
        if SpanRewardBatch not in kind_of(config).reads:
            raise SynparseError(f"--teacher {name}: only grammars such as npcfg learn rewards of spans")
        if len(names) > 1:
            raise SynparseError(f"--teacher {name}: rewards of spans exclude other teachers; name one of them")
        path = _path(name)
        if ":" in name and not Path(path).is_file():
            raise SynparseError(f"{path or name}: there is no such file of paraphrases")


def supervise(request: RunRequest, config: RunConfig) -> Supervision:
    """The rewards of spans that the only teacher in ``request`` stands for."""
    return Supervision(REWARDS, reward_references(request.teachers[0], config))


def reward_references(name: str, config: RunConfig) -> Callable[[Iterable[Sentence]], Iterator[SentenceRewards]]:
    """Function from the sentences of a text to the rewards of the spans of each, over its normalized words."""
    normalize, path = RECIPES[config.data.normalization], _path(name)
    by_characters = config.loader.reward_matching == "characters"

    def rewards(sentences: Iterable[Sentence]) -> Iterator[SentenceRewards]:
        words = [tuple(normalize(sentence.words, sentence.tags).forms) for sentence in sentences]
        rows = read_paraphrases(path, len(words)) if path else None
        if rows is None:
            others = nearest_sentences(words)
        else:
            others = [[tuple(normalize(other, ()).forms) for other in row] for row in rows]
        yield from span_rewards(words, others, by_characters=by_characters)

    return rewards


def read_paraphrases(path: str, sentences: int) -> list[list[Words]]:
    """Read the paraphrases of the sentences of a text: line i has those of sentence i, separated by tabs.

    ``sentences`` is the number of sentences of the text. Raises TreebankError if the number of lines differs, or for a
    line that is not UTF-8.
    """
    lines = [line for _, line in open_lines(path)]
    if len(lines) != sentences:
        raise TreebankError(path, 0, f"{len(lines):,} lines of paraphrases for {sentences:,} sentences of the text")
    return [[tuple(part.split()) for part in line.split("\t") if part.strip()] for line in lines]


def _path(name: str) -> str:
    """File of paraphrases, or an empty string for similar sentences of the text."""
    return name.partition(":")[2]
