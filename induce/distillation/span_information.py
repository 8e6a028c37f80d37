"""Semantic information of the spans of a sentence, from sentences that mean the same (Chen et al. 2025, SemInfo).

Words that stay next to each other in paraphrases of a sentence probably form a constituent. With c(i, j) the number
of paraphrases in which the span from i to j is a longest match, d(i, j) the number of sentences of the text that
contain it, and N the number of sentences of the text, the reward of the span is

    r(i, j) = max(log(c(i, j) + 1) log(N / d(i, j)) / log N + 4, 0)    if c(i, j) > 0, else 0

Without paraphrases, the most similar sentences of the text take their place (not in the paper).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from induce.data.references import SentenceRewards

SEEN_REWARD = 4.0  # of any span that a paraphrase contains, and of the full sentence
NEIGHBORS = 8  # sentences that take the place of paraphrases: the paper has eight paraphrases of each sentence
MAX_SHARING = 1000  # sentences with a word pair; a more frequent pair says little about similarity

Words = tuple[str, ...]
Span = tuple[int, int]


def longest_matches(words: Words, other: Words, *, by_characters: bool = False) -> Iterator[Span]:
    """Spans of two or more of the ``words``, but not of all, that are in ``other`` and in no longer such span.

    With ``by_characters``, a span is in ``other`` if its text is, so that ``he is`` is in ``she is``.
    """
    edge = "" if by_characters else " "
    text = f"{edge}{' '.join(other)}{edge}"
    end = 0
    for start in range(len(words)):
        previous, end = end, max(end, start)
        while end < min(len(words), start + len(words) - 1):
            if f"{edge}{' '.join(words[start : end + 1])}{edge}" not in text:
                break
            end += 1
        if end > previous and end - start > 1:
            yield start, end


def match_counts(words: Words, paraphrases: Sequence[Words], *, by_characters: bool = False) -> Counter[Span]:
    """Number c(i, j) of the ``paraphrases`` in which each span of ``words`` is a longest match.

    Paraphrases that are equal to the sentence do not count.
    """
    others = (other for other in paraphrases if other != words)
    return Counter(span for other in others for span in longest_matches(words, other, by_characters=by_characters))


def span_rewards(
    sentences: Sequence[Words], paraphrases: Sequence[Sequence[Words]], *, by_characters: bool = False
) -> Iterator[SentenceRewards]:
    """Rewards of the spans of each sentence of a text, given the ``paraphrases`` of each."""
    pairs = zip(sentences, paraphrases, strict=True)
    counts = [match_counts(words, others, by_characters=by_characters) for words, others in pairs]
    phrases = {words[i:j] for words, spans in zip(sentences, counts, strict=True) for i, j in spans}
    if by_characters:
        texts = [" ".join(words) for words in sentences]
        containing = {phrase: sum(" ".join(phrase) in text for text in texts) for phrase in phrases}
    else:
        containing = sentences_with(phrases, sentences)
    scale = math.log(len(sentences)) if len(sentences) > 1 else 1.0
    for words, spans in zip(sentences, counts, strict=True):
        values = [
            math.log(count + 1) * math.log(len(sentences) / containing[words[i:j]]) / scale + SEEN_REWARD
            for (i, j), count in spans.items()
        ]
        rewards = {(0, len(words)): SEEN_REWARD} if len(words) > 1 else {}
        rewards |= zip(spans, (max(value, 0.0) for value in values), strict=True)
        yield SentenceRewards(list(rewards), list(rewards.values()))


def sentences_with(phrases: set[Words], sentences: Sequence[Words]) -> dict[Words, int]:
    """Number of sentences that contain each of the ``phrases`` as words."""
    beginnings = {phrase[:end] for phrase in phrases for end in range(1, len(phrase) + 1)}
    counts: Counter[Words] = Counter()
    for words in sentences:
        contained = set()
        for start in range(len(words)):
            for end in range(start + 1, len(words) + 1):
                if words[start:end] not in beginnings:
                    break
                contained.add(words[start:end])
        counts.update(contained & phrases)
    return counts


def nearest_sentences(sentences: Sequence[Words], count: int = NEIGHBORS) -> list[list[Words]]:
    """For each sentence, the ``count`` other sentences that share most word pairs with it, the earliest first if tied.

    Sentences that share no pair are left out, and so are equal sentences.
    """
    sharing: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, words in enumerate(sentences):
        for pair in dict.fromkeys(pairwise(words)):
            sharing[pair].append(index)
    arrays = {pair: np.array(indices) for pair, indices in sharing.items() if 1 < len(indices) <= MAX_SHARING}
    nearest = []
    for words in sentences:
        rows = [arrays[pair] for pair in dict.fromkeys(pairwise(words)) if pair in arrays]
        indices, shared = np.unique(np.concatenate(rows), return_counts=True) if rows else (np.zeros(0, int),) * 2
        ranked = (sentences[index] for index in indices[np.argsort(-shared, kind="stable")])
        different = (other for other in ranked if other != words)
        nearest.append([other for other, _ in zip(different, range(count), strict=False)])
    return nearest
