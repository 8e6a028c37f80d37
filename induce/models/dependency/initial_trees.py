"""Rules used in given trees, and the harmonic start of Klein and Manning (2004) for neural dependency models.

Heads are indices of words from 0, and -1 for the root. Indices of siblings, directions, valences and decisions are
those of `outward_sums`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from induce.models.dependency.outward_sums import GO, HAS_CHILD, LEFT, NO_CHILD, RIGHT, STOP, RuleScores
from treebank.core.sentence import ROOT

#: sign of the correction of each count of [valence, decision], for a head with dependents
CORRECTION = {1: ((NO_CHILD, GO), (HAS_CHILD, STOP)), -1: ((HAS_CHILD, GO), (NO_CHILD, STOP))}
CORRECTED_SHARE = 0.9  # of the largest correction of the decisions that leaves all counts positive


class UsedRules(NamedTuple):
    """Index of each rule that trees use, in the axes of `RuleScores`, with one row for each use.

    ``attach``: [sentence, head, dependent, sibling, valence]; ``decision``: [sentence, head, sibling, direction,
    valence, decision]; ``root``: [sentence, word].
    """

    attach: np.ndarray
    decision: np.ndarray
    root: np.ndarray


def used_rules(trees: Iterable[Sequence[int]], *, siblings: bool = True, released: bool = False) -> UsedRules:
    """Rules in the trees with these heads. Without ``siblings``, their index is 0.

    With ``released``, the decisions of the root word are those that the released program of Yang et al. (2020) counts:
    with siblings its two stops are left out, otherwise the last word has one more decision to continue to the right.
    """
    attach, decision, root = list[tuple[int, ...]](), list[tuple[int, ...]](), list[tuple[int, ...]]()
    for row, heads in enumerate(trees):
        for word, head in enumerate(heads):
            if head == ROOT:
                root.append((row, word))
            for side in (LEFT, RIGHT):
                children = [child for child, above in enumerate(heads) if above == word and (child > word) == side]
                outwards = children[::-1] if side == LEFT else children
                following = [child + 1 for child in outwards[1:]] + [0] if outwards else []
                for child, sibling in zip(outwards, following, strict=True):
                    valence, index = HAS_CHILD if sibling else NO_CHILD, sibling if siblings else 0
                    attach.append((row, word, child, index, valence))
                    decision.append((row, word, index, side, valence, GO))
                if not (released and siblings and head == ROOT):
                    nearest = outwards[0] + 1 if outwards and siblings else 0
                    decision.append((row, word, nearest, side, HAS_CHILD if outwards else NO_CHILD, STOP))
        if released and not siblings:
            valence = NO_CHILD if heads[-1] == ROOT else HAS_CHILD
            decision.append((row, len(heads) - 1, 0, RIGHT, valence, GO))
    shapes = ((attach, 5), (decision, 6), (root, 2))
    return UsedRules(*(np.array(rows, dtype=np.int64).reshape(-1, width) for rows, width in shapes))


def tree_scores(scores: RuleScores, rules: UsedRules) -> Tensor:
    """Sum of the scores of ``rules``, whose siblings are 0 if the scores do not depend on them."""
    tables = zip(scores, rules, strict=True)
    return torch.stack(
        [table[tuple(torch.from_numpy(index.T).to(table.device))].sum() for table, index in tables]
    ).sum()


class HarmonicRules(NamedTuple):
    """Log probabilities over K classes: ``root`` (K,), ``attach`` (K, K, 2, 2) of [head, dependent, direction,
    valence], ``decision`` (K, 2, 2, 2) of [head, direction, valence, decision].
    """

    root: np.ndarray
    attach: np.ndarray
    decision: np.ndarray

    def scores(self, classes: Tensor) -> RuleScores:
        """Scores of sentences of ``classes`` (B, N)."""
        root, attach, decision = (torch.from_numpy(table).to(classes.device) for table in self)
        words = torch.arange(classes.shape[1], device=classes.device)
        side = (words > words[:, None]).long()
        pairs = attach[classes[:, :, None], classes[:, None], side[None]]
        return RuleScores(pairs[:, :, :, None], decision[classes][:, :, None], root[classes])


def harmonic_rules(sentences: Iterable[np.ndarray], count: int, *, smoothing: float = 1e-3) -> HarmonicRules:
    """Harmonic start over ``count`` classes, from sentences of class indices, as in the program of Yang et al. (2020).

    Each word attaches to every other word in proportion to 1 / distance. The numbers of dependents are corrected as
    far as all counts stay positive.
    """
    root, attach = np.zeros(count), np.zeros((count, count, 2, 2))
    decision, correction = np.zeros((count, 2, 2, 2)), np.zeros((count, 2, 2, 2))
    for tags in sentences:
        length = len(tags)
        np.add.at(root, tags, 1 / length)
        # expected arcs [head, dependent], if heads are drawn in proportion to 1 / distance, and roots uniformly
        distances = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
        near = np.divide(1.0, distances, out=np.zeros(distances.shape), where=distances > 0)
        shares = near / np.maximum(near.sum(0), 1e-300) * (length - 1) / length
        for side, part in ((LEFT, np.tril(shares)), (RIGHT, np.triu(shares))):
            for valence in (HAS_CHILD, NO_CHILD):
                np.add.at(attach[..., side, valence], (tags[:, None], tags), part)
            children = part.sum(1)
            some = tags[children > 0]
            np.add.at(decision[:, side, NO_CHILD, STOP], tags, 1.0)
            np.add.at(decision[:, side, HAS_CHILD, GO], some, children[children > 0])
            for sign, cells in CORRECTION.items():
                for valence, choice in cells:
                    np.add.at(correction[:, side, valence, choice], some, float(sign))
    root, attach, decision = root + smoothing, attach + smoothing, decision + smoothing
    falling = correction < 0
    share = min(1.0, float((decision[falling] / -correction[falling]).min(initial=1.0)))
    decision = decision + CORRECTED_SHARE * share * correction
    return HarmonicRules(
        np.log(root / root.sum()),
        np.log(attach / attach.sum(1, keepdims=True)),
        np.log(decision / decision.sum(3, keepdims=True)),
    )
