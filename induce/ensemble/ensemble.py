"""Ensembles: members vote for spans or heads, and a decoder makes one tree of the votes.

Members that give trees can vote in an ensemble of heads: for the best heads, by the votes of the other members, that
agree with their tree. The tree with the largest expected number of votes is a minimum-Bayes-risk tree (Shayegh et al.
2024, for constituents).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from induce.data.punctuation import gaps
from induce.data.vocabulary import RECIPES
from induce.decoding.chart import mbr_splits
from induce.decoding.heads import heads_in_tree
from induce.decoding.priors import AppliedPriors, Evidence
from induce.decoding.specification import NO_PRIORS, parse_priors
from induce.ensemble.ensemble_description import EnsembleDescription, digest_of, members_folder
from induce.ensemble.voters import ParserVoter, Voter, Votes, make_voter
from induce.parsing.load import load_parser
from induce.parsing.parser import Parser, PredictOptions, Report, Words, with_rule
from induce.parsing.reading import Reading
from induce.storage.locate import PathType, locate
from induce.structures import HeadDistribution, SpanScores, Structure
from induce.workers.pool import map_in_workers, worker_count
from treebank.base.arguments import ignore
from treebank.base.errors import SynparseError
from treebank.base.tables import quantity
from treebank.core.sentence import Sentence
from treebank.io.read import DEFAULT_INPUT, InputOptions

MIN_CHUNK_SENTENCES = 128  # for a worker process: members read many sentences of similar length at a time
STRUCTURES: dict[str, type[Structure]] = {"trees": SpanScores, "heads": HeadDistribution}


class Ensemble(Parser):
    """A parser whose members vote. ``report`` is called with a message for sentences without votes of a member.

    ``without_priors``: the priors of the votes and of all members are switched off.
    """

    name = "ensemble"
    token = "word"
    estimates_root = True  # the diagonal is the share of votes for the root

    def __init__(
        self,
        description: EnsembleDescription,
        voters: Sequence[Voter],
        *,
        decoder: str | None = None,
        without_priors: bool = False,
        report: Report = ignore,
    ) -> None:
        """Raises SynparseError if the decoder does not read votes, or if members vote for something else."""
        self.description, self.voters = description, voters
        self.of_trees = np.array([description.output == "heads" and voter.output == "trees" for voter in voters])
        for voter, of_trees in zip(voters, self.of_trees, strict=True):
            if voter.output != description.output and (not of_trees or self.of_trees.all()):
                raise SynparseError(
                    f"{voter.name} gives {voter.output}, and this ensemble votes for {description.output}"
                )
        self.gives = (STRUCTURES[description.output],)
        self.choose_decoder(decoder or description.decoder)
        self.learned_from = description.learned_from
        self.head_style = description.head_style
        self.recipe = RECIPES[description.normalization]
        self.weights = np.array([member.weight for member in description.members])
        self.threshold = description.threshold
        rules = set(filter(None, (voter.tokenization for voter in voters)))
        self.tokenization = rules.pop() if len(rules) == 1 else ""
        self.device = "cpu" if all(voter.device == "cpu" for voter in voters) else "cuda"
        self.without_priors, self.report = without_priors, report
        for voter in voters:
            if voter.repeated:
                report(
                    f"note: {voter.name}: {quantity(voter.repeated, 'repeated sentence')} with another tree or other "
                    "heads; the first analysis votes each time"
                )
        parsers = [voter.parser for voter in voters if isinstance(voter, ParserVoter)]
        self.joining = frozenset[str]().union(*(parser.joining for parser in parsers))
        self.right_probability = fmean([parser.right_probability for parser in parsers] or [self.right_probability])
        priors = () if without_priors else parse_priors(description.priors)
        self._applied_priors = AppliedPriors(priors)

    def input_options(self, options: InputOptions = DEFAULT_INPUT) -> InputOptions:
        """As in `Parser`. Raises SynparseError if members split raw text by different rules."""
        purposes = [voter.parser.purpose for voter in self.voters if isinstance(voter, ParserVoter)]
        return with_rule(options, [voter.tokenization for voter in self.voters], purposes)

    @property
    def decoded(self) -> str:
        priors = f"|priors:{self.priors}" if self.without_priors else ""
        return f"model:{self.name}|members:{self.digest[:8]}|decoder:{self.decoder}{self._stated_style}{priors}"

    @property
    def priors(self) -> str:
        return NO_PRIORS if self.without_priors else ""

    @property
    def digest(self) -> str:
        return self.description.digest

    def blocks(self, sentences: Iterable[Words], options: PredictOptions) -> Iterator[list[Sentence]]:
        """The sentences in blocks. At the end, members without votes are reported."""
        self.silent: Counter[str] = Counter()
        self.sentences = 0
        yield from super().blocks(sentences, options)
        report = options.report or self.report
        for name, count in self.silent.items():
            subject = f"{name} has no votes for" if name else "no member has votes for"
            report(f"{subject} {count:,} of {self.sentences:,} sentences")

    def predict_block(self, block: Sequence[Sentence], options: PredictOptions) -> list[Reading]:
        """The votes for each sentence of a list, which is divided among worker processes if it is large."""
        workers = worker_count(self.device)
        size = max(MIN_CHUNK_SENTENCES, -(-len(block) // (2 * workers))) if workers > 1 else len(block)
        chunks = [block[start : start + size] for start in range(0, len(block), max(1, size))]
        readings: list[Reading] = []
        for part, silent in map_in_workers(self._vote, chunks, min(len(chunks), workers)):
            readings += part
            self.silent.update(silent)
        self.sentences += len(block)
        return readings

    def _vote(self, sentences: Sequence[Sentence]) -> tuple[list[Reading], Counter[str]]:
        """The readings of some sentences, and for each member ("" for all) the number of sentences without votes."""
        words = [self.recipe(sentence.words, sentence.tags).indices for sentence in sentences]
        ballots = [
            voter.vote(sentences, words, self.description.sums and not of_trees)
            for voter, of_trees in zip(self.voters, self.of_trees, strict=True)
        ]
        silent = Counter(
            {voter.name: sum(v is None for v in votes) for voter, votes in zip(self.voters, ballots, strict=True)}
        )
        readings = []
        for index, sentence in enumerate(sentences):
            votes = [ballot[index] for ballot in ballots]
            silent[""] += all(vote is None for vote in votes)
            shares = self._combine(votes, len(words[index]))
            row: Any = shares if len(shares) else []
            adjusted = self._adjusted(shares, sentence.words, words[index]) if len(shares) else None
            readings.append(Reading(sentence.words, words[index], self.structure, row, adjusted))
        return readings, +silent

    def _adjusted(self, shares: Votes, words: Sequence[str], indices: Sequence[int]) -> Votes | None:
        """The ``shares`` of the votes for the ``indices`` words after the priors and the threshold, or None."""
        adjusted = None
        if self._applied_priors.priors:
            evidence = Evidence(gaps(words, indices, self.joining), self.right_probability)
            adjusted = self._applied_priors.adjust(shares, evidence).adjusted
        return (shares if adjusted is None else adjusted) - self.threshold if self.threshold else adjusted

    def _combine(self, votes: Sequence[Votes | None], count: int) -> Votes:
        """The mean of the votes for a sentence of ``count`` words, or zeros if no member has any."""
        has_votes = np.array([vote is not None for vote in votes])
        plain, trees = np.flatnonzero(has_votes & ~self.of_trees), np.flatnonzero(has_votes & self.of_trees)
        mean = self._mean(votes, plain, np.zeros((count, count + (self.description.output == "trees"))))
        if not len(plain) or not len(trees):
            return mean
        spans = self._mean(votes, trees, np.zeros((count, count + 1)))
        heads = heads_in_tree(mean, mbr_splits(spans))
        share = self.weights[trees].sum() / self.weights[has_votes].sum()
        return (1 - share) * mean + share * heads

    def _mean(self, votes: Sequence[Votes | None], members: np.ndarray, default: Votes) -> Votes:
        """The weighted mean of the votes of ``members``, which have some, or ``default`` if there are none."""
        if not len(members):
            return default
        total = np.zeros_like(default)
        for index in members:
            total += self.weights[index] * votes[index]
        return total / self.weights[members].sum()


def load_ensemble(
    path: Path,
    *,
    device: str = "auto",
    decoder: str | None = None,
    layer: int | None = None,
    distances: str | None = None,
    priors: str | None = None,
    report: Report | None = None,
) -> Ensemble:
    """The ensemble in the folder or file ``path``, with the options of `induce.parsing.load.load_parser`.

    Raises SynparseError if a member is missing or has changed since it was combined, and for options that only members
    have.
    """
    if layer is not None or distances is not None:
        raise SynparseError(f"{path}: an ensemble has no layers or distances; its members have: RUN@layer=2")
    if priors not in (None, NO_PRIORS):
        raise SynparseError(
            f"{path}: combine --priors chooses those of an ensemble; here only --priors none is possible"
        )
    without = {"priors": NO_PRIORS} if priors else {}
    checking = iter([report])  # one member checks the text

    def load(path: str, **options: Any) -> Parser:
        return load_parser(path, device=device, report=next(checking, None), **(options | without))

    description = EnsembleDescription.read(path)
    folder, recipe = members_folder(path), RECIPES[description.normalization]
    voters = []
    for member, located in zip(description.members, description.located(folder).members, strict=True):
        if not member.baseline and locate(located.path).type is PathType.MISSING:
            raise SynparseError(f"{path}: its member {located.path} is missing; copy it, too, or combine again")
        if not member.baseline and digest_of(located.path) != member.sha256:
            raise SynparseError(f"{located.path}: this member has changed since {path} was made; combine again")
        voters.append(make_voter(member, located.path, recipe, load))
    return Ensemble(description, voters, decoder=decoder, without_priors=bool(priors), report=report or ignore)
