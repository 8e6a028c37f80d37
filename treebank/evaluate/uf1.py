"""UF1: the share of brackets that a predicted tree and the gold tree have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from math import inf

from treebank.base.errors import SynparseError
from treebank.core.baselines import SEEDED
from treebank.core.sentence import Treebank
from treebank.core.tags import has_penn_tags, short_sentences
from treebank.evaluate.align import Bracketing, TreeView, check_has_trees, miscount, view_treebank
from treebank.evaluate.characters import WORD
from treebank.evaluate.conventions import ScoringConvention
from treebank.evaluate.score import TreeScore
from treebank.evaluate.systems import System, baseline_draw
from treebank.evaluate.tallies import ExpectedTally, GoldSentence, PredictedSentence, ScoredSentences, Tally
from treebank.io.predictions import PredictedTree

Read = Callable[[int, GoldSentence], Bracketing]  # the brackets of a system for the gold sentence with this index


def score_trees(
    gold: Treebank,
    systems: Sequence[System],
    conventions: Iterable[ScoringConvention],
    *,
    max_length: int | None = None,
    details: bool = False,
) -> list[TreeScore]:
    """One score for each convention and system, in this order.

    If few words of ``gold`` have a tag of the Penn Treebank, every token with a letter or a digit is a word, and the
    signature says ``tokens:letters``. ``details`` adds scores by sentence length and by height.
    Raises SynparseError if a sentence has no tree, if predictions do not fit, or if no sentence remains.
    """
    words = "words" if has_penn_tags(gold) else "letters"
    fitted = [
        replace(convention, tokens=words) if convention.tokens == "words" else convention for convention in conventions
    ]
    max_length = _longest(fitted, words, max_length)
    included = short_sentences(gold, max_length)
    check_has_trees(gold)
    predictions = {
        id(system): system.predict(list(compress(gold.sentences, included))) for system in systems if system.predict
    }
    scores: dict[int, list[TreeScore]] = {}
    for rule in dict.fromkeys(convention.tokens for convention in fitted):
        readers = [_readers(system, predictions.get(id(system)), gold, included, rule) for system in systems]
        numbers = [number for number, convention in enumerate(fitted) if convention.tokens == rule]
        same = [fitted[number].up_to(max_length) for number in numbers]
        tallies = [[_tally(system, predictions, convention, details) for system in systems] for convention in same]
        scores |= zip(numbers, _scores(gold, systems, readers, same, tallies, included), strict=True)
    return [score for number in range(len(fitted)) for score in scores[number]]


def _longest(conventions: Sequence[ScoringConvention], rule: str, max_length: int | None) -> int | None:
    """The length limit that all scored sentences keep, in words by ``rule``, or None.

    A convention that counts lengths in other tokens has no limit of its own.
    """
    limits = [
        each.up_to(max_length).max_words if (each.tokens, each.measure) == (rule, "surviving") else max_length
        for each in conventions
    ]
    return max(limits, key=lambda limit: inf if limit is None else limit)


def _scores(
    gold: Treebank,
    systems: Sequence[System],
    readers: Sequence[dict[str, Read]],
    conventions: Sequence[ScoringConvention],
    tallies: Sequence[Sequence[Tally | ExpectedTally]],
    included: Sequence[bool],
) -> list[list[TreeScore]]:
    """The scores of all systems under each of ``conventions``, which have the same rule for words.

    ``tallies`` has an empty tally for each convention and system.
    """
    scored = [ScoredSentences(convention, gold.label) for convention in conventions]
    for index, sentence in enumerate(gold.sentences):
        assert sentence.tree is not None
        view = TreeView.of(sentence, sentence.tree, conventions[0].tokens)
        reference, length = GoldSentence(view), view.brackets.length
        runs = [
            {name: PredictedSentence(reference, read(index, reference)) for name, read in draws.items()}
            for draws in readers
        ]
        for part, row in zip(scored, tallies, strict=True):
            if included[index] and part.convention.includes(length, len(sentence.words)):
                part.indices.append(index)
                part.lengths.append(length)
                for tally, run in zip(row, runs, strict=True):
                    tally.add(reference, run)
    for part in scored:
        if not part.indices:
            raise SynparseError(f"{gold.label}: no sentence is left to score ({part.convention})")
    return [
        [tally.score(system.info, part) for system, tally in zip(systems, row, strict=True)]
        for part, row in zip(scored, tallies, strict=True)
    ]


def _tally(
    system: System, predictions: Mapping[int, Sequence[PredictedTree]], convention: ScoringConvention, details: bool
) -> Tally | ExpectedTally:
    """An empty tally of a system. Labels are counted if there are at least two, without that of added word brackets."""
    if system.is_exact:
        return ExpectedTally(convention, SEEDED[system.name], details=details)
    trees = (prediction.labelled for prediction in predictions.get(id(system), ()))
    labels = set().union(*(tree.labels for tree in trees if tree is not None)) - {"", WORD}
    return Tally(convention, labels=len(labels) > 1, details=details)


def _readers(
    system: System, predicted: Sequence[PredictedTree] | None, gold: Treebank, included: Sequence[bool], rule: str
) -> dict[str, Read]:
    """Functions that return the brackets of a system: one function per random draw, or one if nothing is drawn.

    There is one prediction per sentence, or one per ``included`` sentence.
    Raises SynparseError if the number of predictions does not fit.
    """
    if predicted is None:
        seeds = {str(seed): seed for seed in system.draws} if system.is_exact else {"": system.info.seed}
        return {name: _draw(system.name, seed) for name, seed in seeds.items()}
    if len(predicted) == len(gold):
        return {"": lambda index, sentence: sentence.view.reduce(predicted[index])}
    if len(predicted) != sum(included):
        raise SynparseError(miscount(system.name, predicted, view_treebank(gold, rule), included, "tree"))
    by_index = dict(zip(compress(range(len(gold)), included), predicted, strict=True))
    return {"": lambda index, sentence: sentence.view.reduce(by_index[index]) if index in by_index else Bracketing()}


def _draw(name: str, seed: int | None) -> Read:
    """The brackets of a baseline for one sentence after the other."""
    draw = baseline_draw(name, seed)
    return lambda index, sentence: draw(sentence.tree)
