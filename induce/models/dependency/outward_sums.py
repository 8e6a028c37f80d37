"""Sums and best trees of dependency models with valence whose rules may depend on the next sibling, the rules that
given trees use, and the harmonic start of Klein and Manning (2004).

A head generates its dependents on one side from the *outermost* inwards (Yang et al. 2020). The outermost
dependent has the valence NO_CHILD, every nearer one HAS_CHILD. Each rule may also depend on the *sibling*, which is the
dependent generated before, the next farther one. The head then stops.

Axes: B sentences, N words, S siblings (0: none, i + 1: word i; or a single entry if rules do not depend on the
sibling), then direction, valence, decision. W stands for the widths 0 … N - 1 of spans. All values are logarithms. For
the right side of a head at a, and likewise for the left:

    gap[w]   = Σ_k right[k] left[w - 1 - k]: the words between two dependents a and a + w of the same head
    open[w]  = stop(a + w) left[w - 1] + Σ_m open[m] near(a + m, sibling a + w) gap[w - m]
    right[w] = Σ_m open[m] far(a + m) right[w - m]
    Z        = Σ_a root[a] left[a] right[N - 1 - a]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from treebank.core.sentence import ROOT

HAS_CHILD, NO_CHILD = 0, 1  # valence
LEFT, RIGHT = 0, 1  # direction
GO, STOP = 0, 1  # decision
#: sign of the correction of each count of [valence, decision], for a head with dependents
CORRECTION = {1: ((NO_CHILD, GO), (HAS_CHILD, STOP)), -1: ((HAS_CHILD, GO), (NO_CHILD, STOP))}
CORRECTED_SHARE = 0.9  # of the largest correction of the decisions that leaves all counts positive


class RuleScores(NamedTuple):
    """Log scores of the rules for the words of a batch.

    ``attach`` (B, N, N, S, 2) of [head, dependent, sibling, valence], ``decision`` (B, N, S, 2, 2, 2) of [head,
    sibling, direction, valence, decision], ``root`` (B, N).
    """

    attach: Tensor
    decision: Tensor
    root: Tensor


class TreeArcs(NamedTuple):
    """Weights of arcs and roots in a distribution over trees, or in the best tree (then 0 or 1).

    ``arcs`` (B, N, N) of [head, dependent], ``root`` (B, N), and the log of the sum or the score of the best tree (B,).
    """

    arcs: Tensor
    root: Tensor
    log_total: Tensor


def log_total(scores: RuleScores, lengths: Tensor, *, best: bool = False) -> Tensor:
    """Log of the sum over projective trees with one root (B,), or the score of the best tree.

    Entries of ``scores`` after the end of a sentence must be finite and do not affect the result.
    """
    chart = _Chart(scores, (lambda ways: ways.max(1).values) if best else (lambda ways: ways.logsumexp(1)))
    return chart.total(lengths)


def tree_arcs(scores: RuleScores, lengths: Tensor, *, best: bool = False) -> TreeArcs:
    """Arc marginals, or the arcs of the best tree, as derivatives of the log total."""
    with torch.inference_mode(False), torch.enable_grad():  # parsing disables gradients
        fixed = RuleScores(*(table.detach().clone() for table in scores))
        count = fixed.root.shape[1]
        arcs = fixed.root.new_zeros(len(fixed.root), count, count).requires_grad_()
        root = fixed.root.requires_grad_()
        weighted = RuleScores(fixed.attach + arcs[:, :, :, None, None], fixed.decision, root)
        total = log_total(weighted, lengths, best=best)
        arc_shares, root_shares = torch.autograd.grad(total.sum(), (arcs, root), allow_unused=True)
    arc_shares = torch.zeros_like(arcs) if arc_shares is None else arc_shares
    return TreeArcs(arc_shares.detach(), root_shares.detach(), total.detach())


def best_heads(scores: RuleScores, lengths: Tensor) -> Tensor:
    """Heads (B, N) of the best trees: indices of words, and -1 for the root and for padding."""
    best = tree_arcs(scores, lengths, best=True)
    heads = best.arcs.argmax(1)
    return torch.where(best.arcs.sum(1) > 0.5, heads, -1)


class _Chart:
    """Half spans of one batch, from narrow to wide.

    Each table (B, W, N) is indexed by width and by the first word of a span; those named ``…_end`` by its last word.
    Entries of words without such a span are never read.
    """

    left: Tensor
    left_end: Tensor
    right: Tensor
    right_end: Tensor
    near: list[tuple[Tensor, ...]]  # these three are described in `_read_rules`
    far: list[Tensor]
    stop: list[tuple[Tensor, ...]]

    def __init__(self, scores: RuleScores, combine: Callable[[Tensor], Tensor]) -> None:
        self.combine, self.root = combine, scores.root
        self.count = self.root.shape[1]
        self._read_rules(scores)
        self.gap = self.gap_end = self.open_right = self.open_left_end = self.root[:, None]  # width 0 is never read
        for width in range(1, self.count):
            spans = self.count - width  # of this width in each sentence
            inner = slice(1, width)  # widths of nearer dependents
            gap = self.combine(self.right[:, :width, :spans] + self.left_end[:, :width, width:].flip(1))
            self.gap, self.gap_end = self._both(self.gap, self.gap_end, gap)
            first = self.left[:, width - 1, 1 : spans + 1] + self.stop[RIGHT][width][:, :spans]
            rules = self.near[RIGHT][width][:, :spans, inner].transpose(1, 2)
            later = self.open_right[:, inner, :spans] + self.gap_end[:, inner, width:].flip(1) + rules
            self.open_right = self._wider(self.open_right, self.combine(torch.cat([first[:, None], later], 1)))
            first = self.right[:, width - 1, :spans] + self.stop[LEFT][width][:, width:]
            rules = self.near[LEFT][width][:, width:, inner].transpose(1, 2)
            later = self.open_left_end[:, inner, width:] + self.gap[:, inner, :spans].flip(1) + rules
            opened = self.combine(torch.cat([first[:, None], later], 1))
            self.open_left_end = self._wider(self.open_left_end, opened, by_end=True)
            each = slice(1, width + 1)
            ways = self.open_right[:, each, :spans] + self.far[RIGHT][:, :spans, each].transpose(1, 2)
            right = self.combine(ways + self.right_end[:, :width, width:].flip(1))
            ways = self.open_left_end[:, each, width:] + self.far[LEFT][:, width:, each].transpose(1, 2)
            left = self.combine(ways + self.left[:, :width, :spans].flip(1))
            self.right, self.right_end = self._both(self.right, self.right_end, right)
            self.left, self.left_end = self._both(self.left, self.left_end, left)

    def total(self, lengths: Tensor) -> Tensor:
        """Log of the sum over trees, or score of the best tree, of each sentence (B,). ``lengths`` (B,) count words."""
        totals = torch.zeros_like(self.root[:, 0])
        words = torch.arange(self.count, device=self.root.device)
        for length in lengths.unique().tolist():
            heads = words[:length]
            ways = self.root[:, :length] + self.right[:, length - 1 - heads, heads] + self.left[:, heads, 0]
            totals = torch.where(lengths.to(totals.device) == length, self.combine(ways), totals)
        return totals

    def _read_rules(self, scores: RuleScores) -> None:
        """Rules by head and widths: ``near`` (B, N, W) of [head, dependent] for each width of the sibling,
        ``far`` (B, N, W), and ``stop`` (B, N) for each width of the nearest dependent, for both sides.
        """
        count, device = self.count, self.root.device
        head = torch.arange(count, device=device)
        width = torch.arange(count, device=device)
        shape = scores.attach.shape[:3]
        attach = scores.attach.expand(*shape, count + 1, 2)
        decision = scores.decision.expand(*shape[:2], count + 1, 2, 2, 2)
        self.near, self.far, self.stop = [], [], []
        for side, sign in ((LEFT, -1), (RIGHT, 1)):
            other = (head[:, None] + sign * width).clamp(0, count - 1)  # (N, W)
            row = head[:, None]
            go, stop = decision[:, :, :, side, :, GO], decision[:, :, :, side, :, STOP]
            pairs = attach[:, row[..., None], other[..., None], other[:, None] + 1, HAS_CHILD]
            rules = pairs + go[:, row, other + 1, HAS_CHILD][:, :, None]
            self.near.append(rules.unbind(-1))  # a slice of the whole table would have a gradient of its size
            self.far.append(attach[:, row, other, 0, NO_CHILD] + go[:, :, 0, NO_CHILD, None])
            self.stop.append(stop[:, row, other + 1, HAS_CHILD].unbind(-1))
        bare = decision[:, :, 0, :, NO_CHILD, STOP]
        self.left = self.left_end = bare[:, None, :, LEFT]
        self.right = self.right_end = bare[:, None, :, RIGHT]

    def _both(self, by_start: Tensor, by_end: Tensor, spans: Tensor) -> tuple[Tensor, Tensor]:
        return self._wider(by_start, spans), self._wider(by_end, spans, by_end=True)

    def _wider(self, table: Tensor, spans: Tensor, *, by_end: bool = False) -> Tensor:
        """``table`` with the ``spans`` (B, N - w) of the next width."""
        missing = self.count - spans.shape[1]
        padded = functional.pad(spans, (missing, 0) if by_end else (0, missing))
        return torch.cat([table, padded[:, None]], 1)


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
