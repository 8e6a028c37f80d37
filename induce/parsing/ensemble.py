"""An ensemble: members that vote for spans or heads, and a decoder that makes one tree of their votes.

Members that give trees can vote among members that give heads: for the best heads, by the others' votes, that agree
with their tree.

It is a folder with ``ensemble.json``, which names the members with their weights and digests; `load_parser` takes it
like a trained model. Which tree gets the most votes is a minimum-Bayes-risk question (Shayegh et al. 2024 for
constituents).
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from induce.decoding.chart import mbr_splits
from induce.decoding.heads_in_tree import heads_in_tree
from induce.parsing.parser import Parser, StructureParser, Words
from induce.parsing.reading import Reading
from induce.parsing.voters import ParserVoter, Voter, Votes, make_voter
from induce.registry import Output
from induce.storage.checkpoint import CheckpointError, find
from induce.storage.locate import ENSEMBLE, PathType, locate
from induce.storage.model_spec import BASELINE, ModelSpec
from induce.structures import HeadDistribution, SpanScores, Structure
from induce.workers.pool import cores, in_copies
from treebank.base.errors import SynparseError, placed
from treebank.base.json_text import parse_json
from treebank.base.version import VERSION
from treebank.core.normalization import RECIPES
from treebank.core.sentence import Sentence
from treebank.io.parsed_folder import parsed_files

FORMAT = 1
CHUNK = 128  # sentences that a process votes on at a time, at least: members read many of one length side by side
STRUCTURES: dict[str, type[Structure]] = {"trees": SpanScores, "heads": HeadDistribution}
DECODERS = {"trees": "mbr", "heads": "mbr-heads"}
SUMS = {"trees": False, "heads": True}  # hard trees vote better than sums of marginals, arcs the other way round


@dataclass(frozen=True, kw_only=True)
class Description:
    """What ensemble.json says. ``threshold``: the share of the votes that a phrase needs; 0 gives binary trees."""

    output: Output
    sums: bool  # probabilities are summed where a member gives them, else each member's tree votes
    normalization: str  # the recipe that says for which words there are votes
    decoder: str
    members: tuple[ModelSpec, ...]
    digests: tuple[str, ...]  # sha256 of each member; "" of a baseline
    threshold: float = 0.0
    learned_from: str = ""

    def to_json(self) -> dict[str, Any]:
        """The content of ensemble.json."""
        members = [asdict(one) | {"sha256": own} for one, own in zip(self.members, self.digests, strict=True)]
        values = {key: value for key, value in asdict(self).items() if key not in ("members", "digests")}
        return {"format": FORMAT, "synparse": VERSION, **values, "members": members}

    @classmethod
    def read(cls, folder: Path) -> Description:
        """The description in ``folder``. Raises CheckpointError naming the file and what is wrong with it."""
        path = folder / ENSEMBLE
        try:
            content = parse_json(path.read_bytes())
            if content.pop("format") != FORMAT:
                raise ValueError(f"it has a format that synparse {VERSION} does not know")
            del content["synparse"]
            entries = content.pop("members")
            digests = tuple(str(entry.pop("sha256")) for entry in entries)
            found = cls(members=tuple(ModelSpec(**entry) for entry in entries), digests=digests, **content)
            if found.output not in STRUCTURES or found.normalization not in RECIPES or not found.members:
                raise ValueError("its output, normalization or members are none")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(f"{path}: not the description of an ensemble ({error}); combine it again") from None
        return found


class Ensemble(StructureParser):
    """Members that vote; a parser like any other. ``tell`` hears of sentences for which a member has no vote."""

    name = "ensemble"
    token = "word"
    without_priors = False  # whether the priors of all members are switched off

    def __init__(self, description: Description, voters: Sequence[Voter], *, decoder: str | None = None) -> None:
        """Raises SynparseError for a decoder that does not read votes, or members that vote for something else."""
        self.description, self.voters = description, voters
        self.of_trees = np.array([description.output == "heads" and voter.output == "trees" for voter in voters])
        for voter, of_trees in zip(voters, self.of_trees, strict=True):
            if voter.output != description.output and (not of_trees or self.of_trees.all()):
                raise SynparseError(
                    f"{voter.name} gives {voter.output}, and this ensemble votes for {description.output}"
                )
        self.gives = (STRUCTURES[description.output],)
        self.choose(decoder or description.decoder)
        self.learned_from = description.learned_from
        self.recipe = RECIPES[description.normalization]
        self.weights = np.array([member.weight for member in description.members])
        self.threshold = description.threshold
        rules = {voter.parser.tokenization for voter in voters if isinstance(voter, ParserVoter)}
        self.tokenization = rules.pop() if len(rules) == 1 else ""
        self.processes = cores()
        self.tell: Callable[[str], None] = lambda line: None

    @property
    def decoded(self) -> str:
        return super().decoded + ("|priors:none" if self.without_priors else "")

    @property
    def digest(self) -> str:
        """Of the description, wherever the members lie."""
        content = self.description.to_json()
        del content["synparse"]
        for member in content["members"]:
            if member["sha256"]:
                del member["path"]
        return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def read_blocks(self, sentences: Iterable[Words]) -> Iterator[Iterable[Reading]]:
        """The votes for each sentence, in order; at the end it is told which members had none."""
        self.silent: Counter[str] = Counter()
        self.sentences = 0
        yield from super().read_blocks(sentences)
        for name, count in self.silent.items():
            who = f"{name} has no votes for" if name else "no member has votes for"
            self.tell(f"{who} {count:,} of {self.sentences:,} sentences")

    def read_block(self, block: Sequence[Sentence]) -> list[Reading]:
        """The votes for each sentence of a list; large lists are shared out among processes."""
        size = max(CHUNK, -(-len(block) // (2 * self.processes)))
        chunks = [block[start : start + size] for start in range(0, len(block), size)]
        on_cpu = all(getattr(getattr(voter, "parser", None), "device", "cpu") == "cpu" for voter in self.voters)
        readings: list[Reading] = []
        for found, silent in in_copies(self._vote, chunks, min(len(chunks), self.processes) if on_cpu else 1):
            readings += found
            self.silent.update(silent)
        self.sentences += len(block)
        return readings

    def _vote(self, sentences: Sequence[Sentence]) -> tuple[list[Reading], Counter[str]]:
        """The readings of some sentences, and how many each member has no votes for ("": none of them has any)."""
        kept = [self.recipe(sentence.words, sentence.tags).kept for sentence in sentences]
        ballots = [
            voter.vote(sentences, kept, self.description.sums and not of_trees)
            for voter, of_trees in zip(self.voters, self.of_trees, strict=True)
        ]
        silent = Counter(
            {voter.name: sum(v is None for v in votes) for voter, votes in zip(self.voters, ballots, strict=True)}
        )
        readings = []
        for place, sentence in enumerate(sentences):
            votes = [ballot[place] for ballot in ballots]
            silent[""] += all(vote is None for vote in votes)
            row = self._together(votes, len(kept[place])) - self.threshold
            scores: Any = row if len(row) else []
            is_share = not self.threshold
            readings.append(Reading(sentence.words, kept[place], self.structure, scores, probabilities=is_share))
        return readings, +silent

    def _together(self, votes: Sequence[Votes | None], count: int) -> Votes:
        """The mean of the votes for a sentence of ``count`` words; zeros where no member has any."""
        there = np.array([vote is not None for vote in votes])
        own, trees = np.flatnonzero(there & ~self.of_trees), np.flatnonzero(there & self.of_trees)
        mean = self._mean(votes, own, np.zeros((count, count + (self.description.output == "trees"))))
        if not len(own) or not len(trees):
            return mean
        spans = self._mean(votes, trees, np.zeros((count, count + 1)))
        heads = heads_in_tree(mean, mbr_splits(spans))
        share = self.weights[trees].sum() / self.weights[there].sum()
        together: Votes = (1 - share) * mean + share * heads
        return together

    def _mean(self, votes: Sequence[Votes | None], members: np.ndarray, default: Votes) -> Votes:
        return weighted_mean([votes[index] for index in members], self.weights[members], default)


def weighted_mean(votes: Sequence[Votes | None], weights: np.ndarray, default: Votes) -> Votes:
    """The mean of the votes, weighted, over the members that have some; ``default`` if none has."""
    there = [index for index, vote in enumerate(votes) if vote is not None]
    if not there:
        return default
    total = np.zeros_like(default)
    for index in there:
        total += weights[index] * votes[index]
    mean: Votes = total / weights[there].sum()
    return mean


def load_ensemble(folder: Path, load: Callable[..., Parser], *, decoder: str | None = None) -> Ensemble:
    """The ensemble in ``folder``; ``load`` makes a parser of a run.

    Raises SynparseError for a member that is not there any more, or is another than when it was combined.
    """
    description = Description.read(folder)
    recipe = RECIPES[description.normalization]
    voters = []
    for member, digest in zip(description.members, description.digests, strict=True):
        path = member.path if member.baseline else str(folder / member.path)
        if not member.baseline and digest_of(path) != digest:
            raise SynparseError(f"{path}: this member has changed since {folder} was made; combine again")
        voters.append(make_voter(member, path, recipe, load))
    return Ensemble(description, voters, decoder=decoder)


def models_of(run: str) -> list[str]:
    """The models in an ensemble and in the ensembles among its members; a model by itself is its only one.

    Raises SynparseError if all members are files and baselines.
    """
    if locate(run).type is not PathType.ENSEMBLE:
        return [run]
    members = Description.read(Path(run)).members
    paths = [os.path.normpath(Path(run) / member.path) for member in members if not member.baseline]
    models = [model for path in paths if locate(path).is_model for model in models_of(path)]
    if not models:
        raise SynparseError(f"{run}: no member of this ensemble is a model, so there are no probabilities of words")
    return list(dict.fromkeys(models))


def digest_of(path: str) -> str:
    """The SHA-256 of the files that decide a member's trees; "" for a baseline."""
    if path.startswith(BASELINE):
        return ""
    located = locate(path)
    if located.type is PathType.PARSED:
        files = list(map(Path, parsed_files(path)))
    elif located.type is PathType.ENSEMBLE:
        files = [located.path / ENSEMBLE]
    elif located.type in (PathType.FILE, PathType.PACKED):
        files = [located.path]
    else:
        folder = find(located.path)
        files = [folder / name for name in ("checkpoint.json", "vocabulary.txt", "weights.safetensors")]
    digest = sha256()
    for file in files:
        with placed(file), file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
