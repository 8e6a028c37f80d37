"""Inside and outside sums of projective dependency trees with valence, for many sentences of similar length.

The grammar is split-head (Eisner 1996; Klein and Manning 2004): a head generates its dependents on one side from the
nearest outwards and then stops. Each decision depends on whether the head already has a dependent on that side.

All tables have the layout ``[side, word, width, sentence]``. Side 0 reads the sentence from left to right, side 1 from
right to left, and *word* is an index in that direction. On both sides the dependents of a word therefore follow it, and
the same code handles both. The table of the other side, read from its end, contains the half spans between a head and
its dependent. The entry (word a, width w) describes the words a … a + w. Sentences are the last axis, so each sum over
the split points of a span is a product of two contiguous slices, one of them reversed.

For one side, with b = a + w, and ``back`` the other side's finished half spans (head b, reaching back to a + 1 … b):

    arc[a, w]  = first[a, w] back[b, w - 1] + later[a, w] Σ_{0<k<w} open[a, k] back[b, w - 1 - k]
    open[a, w] = Σ_{0<k≤w} arc[a, k] done[a + k, w - k]
    done[a, w] = open[a, w] stop[a, 1]          done[a, 0] = stop[a, 0]
    Z          = Σ_a root[a] done(side 0)[a, N - 1 - a] done(side 1)[N - 1 - a, a]

The outside pass computes the derivative of log Z in the opposite order. The derivative times the weight is the expected
number of uses of the weight. The tables contain probabilities with one scale per sentence, not logarithms. A
sentence that leaves the range of numbers is computed again with another scale, and if that fails, in logarithms
(`plain_dependency_sums`).

Fragments are described in `dependency_tables`.
"""

from __future__ import annotations

import math

import numpy as np

from induce.models.em.dependency_tables import Array, Fragments, TreeCounts, TreeWeights, plain_tree_counts

TOLERANCE = 1e-6  # maximum difference from one head and two stops per word


class Workspace:
    """Arrays that are reused for all batches, because allocation takes longer than the sums."""

    def __init__(self) -> None:
        self._memory: dict[str, Array] = {}

    def empty(self, name: str, shape: tuple[int, ...]) -> Array:
        """Array ``name`` with arbitrary content, which overwrites the previous array of this name."""
        size = math.prod(shape)
        if name not in self._memory or len(self._memory[name]) < size:
            self._memory[name] = np.zeros(size)
        return self._memory[name][:size].reshape(shape)

    def zeros(self, name: str, shape: tuple[int, ...]) -> Array:
        """Array ``name`` filled with 0, otherwise as `empty`."""
        array = self.empty(name, shape)
        array.fill(0.0)
        return array

    def clear(self) -> None:
        """Release all arrays, so that the next ones contain no infinite number of an earlier batch."""
        self._memory.clear()


def tree_counts(
    weights: TreeWeights, fragments: Fragments | None = None, *, workspace: Workspace | None = None
) -> TreeCounts:
    """Expected number of uses of each weight, and log Z (nats) of each sentence, over all projective trees.

    Z is the sum over the trees of the product of their weights. The sentences must be of similar length.

    If no tree of a sentence has a positive weight, its counts are 0 and its log is -inf. With a ``workspace``, the
    counts are valid until it is used again.
    """
    workspace = workspace or Workspace()
    counts, growth = _counts(weights, fragments, _scale(weights), workspace)
    for in_logarithms in (False, True):  # first with another scale
        heads = counts.root.sum(0) + counts.first.sum((0, 1, 2)) + counts.later.sum((0, 1, 2))  # one per word
        stops = counts.stop.sum((0, 1, 2)) / 2  # one per word and side
        deviation = np.maximum(np.abs(heads / weights.words - 1), np.abs(stops / weights.words - 1))
        lost = np.flatnonzero(~(deviation < TOLERANCE))
        if not len(lost):
            break
        workspace.clear()  # it may contain infinite numbers, and 0 times infinity is not a number
        parts = None if fragments is None else fragments.select(lost)
        rest = weights.select(lost)
        again = plain_tree_counts(rest, parts) if in_logarithms else _counts(rest, parts, growth[lost], Workspace())[0]
        for name, values in vars(again).items():
            getattr(counts, name)[..., lost] = values
    return counts


def _counts(
    weights: TreeWeights, fragments: Fragments | None, scale: Array, workspace: Workspace
) -> tuple[TreeCounts, Array]:
    """Expected uses with arcs multiplied by ``scale`` (B,), and the scale that suits the half spans."""
    chart = _Chart(weights, fragments, scale, workspace)
    with np.errstate(all="ignore"):
        chart.inside()
        return chart.outside(), scale * np.exp(-chart.growth())


class _Chart:
    """Inside and outside tables (2, N, N, B) of one batch.

    Tables named ``…_end`` are indexed by the last word of a half span instead of its head. Without fragments, ``same``
    contains all arcs, there is no ``crossing``, and the tables named ``…inner…`` equal the tables without it.
    """

    def __init__(self, weights: TreeWeights, fragments: Fragments | None, scale: Array, workspace: Workspace) -> None:
        self.shape: tuple[int, ...] = weights.first.shape
        self._workspace = workspace
        self.count = self.shape[1]
        self.fragments = fragments
        self.scale = scale
        self.first = np.multiply(weights.first, self.scale, out=workspace.empty("first", self.shape))
        self.later = np.multiply(weights.later, self.scale, out=workspace.empty("later", self.shape))
        self.stop, self.root, self.words = weights.stop, weights.root, weights.words
        # Entries outside the triangle of a table are arbitrary: each is multiplied by a derivative of 0.
        self.same, self.open, self.done_end = self._any("same", "open", "done_end")
        self.rest, self.done = self._zeros("rest", "done")
        self.done[:, :, 0] = self.done_end[:, :, 0] = weights.stop[:, :, 0]
        self.open[:, :, 0] = 0  # a head without dependents on this side has no later arc
        self.open_inner, self.done_inner, self.done_inner_end = self.open, self.done, self.done_end
        self.done_outer, self.done_outer_end = self.done, self.done_end  # of dependents in the fragment of their head
        if fragments is not None:
            same = np.where(fragments.crossing > 0, 1.0, fragments.penalty**-2)
            self.first *= same * fragments.cover[:, :, :1]  # factors that do not depend on the split point
            self.later *= same
            self.crossing, self.open_inner = self._any("crossing", "open_inner")
            self.open_inner[:, :, 0] = 0
            self.done_inner, self.done_inner_end = self._any("done_inner", "done_inner_end")
            cover = fragments.dependent_cover[:, :, 0]
            self.done_inner[:, :, 0] = self.done_inner_end[:, :, 0] = self.done[:, :, 0] * cover
            if fragments.within is not None:
                self.done_outer, self.done_outer_end = self._any("done_outer", "done_outer_end")
                self.done_outer[:, :, 0] = self.done_outer_end[:, :, 0] = self.done[:, :, 0]

    def _zeros(self, *names: str) -> list[Array]:
        """Tables of the workspace filled with 0."""
        return [self._workspace.zeros(name, self.shape) for name in names]

    def _any(self, *names: str) -> list[Array]:
        """Tables of the workspace with arbitrary content."""
        return [self._workspace.empty(name, self.shape) for name in names]

    def inside(self) -> None:
        """Fill the tables from narrow to wide."""
        for width in range(1, self.count):
            heads, lasts = slice(self.count - width), slice(width, self.count)
            for side in (0, 1):
                back = self.done_inner[1 - side, ::-1]  # indexed by its head, in the direction of this side
                arcs = self.first[side, heads, width] * back[lasts, width - 1]
                if width > 1:
                    rest = _products(self.open_inner[side, heads, 1:width], back[lasts, width - 2 :: -1])
                    self.rest[side, heads, width] = rest
                    arcs += self.later[side, heads, width] * rest
                if self.fragments is not None:
                    crossing = self.crossing[side, heads, width] = arcs * self.fragments.crossing[side, heads, width]
                    arcs -= crossing
                self.same[side, heads, width] = arcs
            for side in (0, 1):
                outer_ends = self.done_outer_end[side, lasts, width - 1 :: -1]
                total = _products(self.same[side, heads, 1 : width + 1], outer_ends)
                if self.fragments is not None:
                    inner = self.done_inner_end[side, lasts, width - 1 :: -1]
                    total += _products(self.crossing[side, heads, 1 : width + 1], inner)
                done = total * self.stop[side, heads, 1]
                self.open[side, heads, width] = total
                self.done[side, heads, width] = self.done_end[side, lasts, width] = done
                if self.fragments is not None:
                    self.open_inner[side, heads, width] = total * self.fragments.cover[side, heads, width]
                    inner = done * self.fragments.dependent_cover[side, heads, width]
                    self.done_inner[side, heads, width] = self.done_inner_end[side, lasts, width] = inner
                    if self.fragments.within is not None:
                        outer = done * self.fragments.within[side, heads, width]
                        self.done_outer[side, heads, width] = self.done_outer_end[side, lasts, width] = outer

    def growth(self) -> Array:
        """Log of the factor (B,) by which half spans grow per word, measured while they are in range."""
        peaks = np.maximum(self.done.max((0, 1)), 0)  # (N, B)
        fit = (peaks > 1e-200) & (peaks < 1e200)
        # the widest before the first that is out of range
        width = np.where(fit.all(0), self.count, (~fit).argmax(0)) - 1
        ends = peaks[np.maximum(width, 0), np.arange(peaks.shape[1])]
        return np.where(width > 0, np.log(np.where(width > 0, ends, 1.0)) / np.maximum(width, 1), 0.0)

    def outside(self) -> TreeCounts:
        """Expected uses. Spans are visited from wide to narrow, so that each derivative follows its inputs."""
        count, words = self.count, np.arange(self.count)
        beyond = self.words - 1 - words[:, None]  # (N, B): words after each word
        inside, columns = beyond >= 0, np.arange(self.shape[3])
        to_end = words[:, None], np.maximum(beyond, 0), columns
        right, left = self.done[0][to_end], self.done[1, count - 1 - words, words]  # (N, B)
        root = self.root * inside
        parts = root * right * left
        total = parts.sum(0)
        inverse = np.where(total > 0, 1 / total, 0)
        (self.d_done,) = self._zeros("d_done")
        self.d_done[0][to_end] = root * left * inverse
        self.d_done[1, count - 1 - words, words] = root * right * inverse
        self.d_open, self.d_open_end, self.d_first = self._zeros("d_open", "d_open_end", "d_first")
        self.d_rest, self.d_rest_end = self._zeros("d_rest", "d_rest_end")
        self.same_end, self.open_inner_end = self._any("same_end", "open_inner_end")
        _by_end(self.same, self.same_end)
        _by_end(self.open_inner, self.open_inner_end)
        if self.fragments is not None:
            (self.crossing_end,) = self._any("crossing_end")
            _by_end(self.crossing, self.crossing_end)
        first, later = self._zeros("first counts", "later counts")
        stop = np.zeros(self.stop.shape)
        for width in range(count - 1, -1, -1):
            heads, lasts = slice(count - width), slice(width, count)
            for side in (0, 1):
                used = self._leave_half_spans(side, width, heads, lasts)
                stop[side, heads, min(width, 1)] += used
            for side in (0, 1) if width else ():
                first[side, heads, width], later[side, heads, width] = self._leave_arcs(side, width, heads, lasts)
        log_total = np.log(total) - (self.words - 1) * np.log(self.scale)
        return TreeCounts(first, later, stop, parts * inverse, log_total)

    def _leave_half_spans(self, side: int, width: int, heads: slice, lasts: slice) -> Array:
        """Compute the derivatives by all half spans of one width and return the expected stops."""
        wider = self.d_open_end[side, lasts, width + 1 :]
        done = _products(self.same_end[side, heads, 1 : self.count - width], wider)  # as a dependent of an earlier word
        # between the split point of an arc and its dependent
        other, inner = 1 - side, np.zeros((1, self.shape[3]))
        if width < self.count - 1:
            # in the direction of the other side, the head of the arc precedes the half span
            back, further = self.d_first[other, width:, width + 1].copy(), slice(self.count - width - 1)
            rest = self.d_rest_end[other, width + 1 :, width + 1 :]
            back[1:] += _products(rest, self.open_inner_end[other, further, further])
            inner = back[::-1]
        if self.fragments is not None:
            inner += _products(self.crossing_end[side, heads, 1 : self.count - width], wider)
            inner = inner * self.fragments.dependent_cover[side, heads, width]
            if self.fragments.within is not None:
                done *= self.fragments.within[side, heads, width]
        done += inner
        done += self.d_done[side, heads, width]
        if width:
            # the head's part of a later arc; the dependent's part begins after it
            back_end = self.done_inner_end[1 - side, ::-1]
            after = slice(width + 1, self.count)
            before = slice(self.count - width - 1)
            open_ = done * self.stop[side, heads, 1]
            by_arcs = _products(self.d_rest[side, before, width + 1 :], back_end[after, : self.count - width - 1])
            if self.fragments is not None:
                by_arcs *= self.fragments.cover[side, before, width]
            open_[: self.count - width - 1] += by_arcs
            self.d_open[side, heads, width] = self.d_open_end[side, lasts, width] = open_
        return done * self.done[side, heads, width]

    def _leave_arcs(self, side: int, width: int, heads: slice, lasts: slice) -> tuple[Array, Array]:
        """Compute the derivatives by the parts of arcs of one width and return the expected uses of the arcs."""
        wider, reach = self.d_open[side, heads, width:], slice(self.count - width)
        arcs = _products(wider, self.done_outer[side, lasts, reach])
        if self.fragments is not None:
            crossing = self.fragments.crossing[side, heads, width]
            arcs += crossing * (_products(wider, self.done_inner[side, lasts, reach]) - arcs)
        first, later = arcs * self.first[side, heads, width], arcs * self.later[side, heads, width]
        self.d_first[side, lasts, width] = first
        self.d_rest[side, heads, width] = self.d_rest_end[side, lasts, width] = later
        back = self.done_inner[1 - side, ::-1][lasts, width - 1]
        return first * back, later * self.rest[side, heads, width]


def _products(left: Array, right: Array) -> Array:
    """Σ_k left[:, k] right[:, k] of two tables (A, K, B)."""
    return np.einsum("akb,akb->ab", left, right)


def _by_end(tables: Array, result: Array) -> None:
    """Copy tables (2, N, N, B) of half spans, indexed by head, to ``result``, indexed by last word."""
    for width in range(tables.shape[2]):
        result[:, width:, width] = tables[:, : tables.shape[1] - width, width]


def _scale(weights: TreeWeights) -> Array:
    """Factor of the arcs (B,) that keeps half spans of any width near 1: the inverse of the mean weight of a word."""
    count = weights.root.shape[0]
    stops = weights.stop[:, :, 0].prod(0)  # (N, B)
    into = np.zeros_like(weights.root)
    for side, tables in enumerate(np.maximum(weights.first, weights.later)):
        for width in range(1, count):
            ends = into[width:] if side == 0 else into[::-1][width:]
            np.add(ends, tables[: count - width, width], out=ends)
    held = np.arange(count)[:, None] < weights.words
    with np.errstate(divide="ignore"):
        level = np.where(held, np.log(into * stops), 0.0).sum(0) / weights.words
    return np.exp(-np.where(np.isfinite(level), level, 0.0))
