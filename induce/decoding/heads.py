"""Head distributions to heads: exactly one root but for `argmax`, the first root on ties, no recursion.

Row i of a matrix says how probable each word is as head of word i; in what is returned ``ROOT`` is the head of a root.
`chu-liu-edmonds` and `eisner` maximise the sum of log(p + 1e-9) over all words but the root, as the released program of
UDGN does (Shen et al. 2022): any word is the root at no cost. With ``root="diagonal"`` the root's own entry counts.
A number that is no probability raises SynparseError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from treebank.dependency import Heads
from treebank.errors import SynparseError
from treebank.sentence import ROOT

Matrix = Sequence[Sequence[float]] | np.ndarray
Root = Literal["free", "diagonal"]
SMALLEST = 1e-9  # added to each probability, so that a tree can be had from any of them
ROUNDING = 2.0**-52  # of a sum, relative to each of its parts: roots whose trees differ by no more are tied


def argmax(probability: Matrix) -> Heads:
    """Each word's most probable head, the first on ties; a word that chooses itself is a root. Not always a tree."""
    matrix = _probabilities(probability)
    if not len(matrix):
        return ()
    return tuple(ROOT if head == i else head for i, head in enumerate(matrix.argmax(1).tolist()))


def chu_liu_edmonds(probability: Matrix, *, root: Root = "free") -> Heads:
    """The heads of the best tree; its arcs may cross. Quadratic time."""
    return maximum_tree(*_scores(probability, root))


def eisner(probability: Matrix, *, root: Root = "free") -> Heads:
    """The heads of the best tree whose arcs do not cross. Cubic time."""
    return maximum_projective_tree(*_scores(probability, root))


def _scores(probability: Matrix, root: Root) -> tuple[np.ndarray, np.ndarray | None]:
    """Log probabilities of the arcs, and of each word as the root where that counts."""
    scores = np.log(_probabilities(probability) + SMALLEST)
    return scores, scores.diagonal() if root == "diagonal" else None


def _probabilities(given: Matrix) -> np.ndarray:
    """The matrix (N, N) in float64. Raises SynparseError if it is not square, or a number is no probability."""
    try:
        matrix = np.asarray(given, dtype=np.float64)
    except (ValueError, OverflowError):
        raise SynparseError("the rows of heads differ in length; one number per word is needed in each") from None
    if matrix.size == 0 and len(matrix) == 0:
        return np.zeros((0, 0))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        shape = " x ".join(map(str, matrix.shape))
        raise SynparseError(f"heads are {shape} numbers; a square with a row for each word is needed")
    if not ((matrix >= 0) & (matrix < np.inf)).all():
        row, column = np.argwhere(~((matrix >= 0) & (matrix < np.inf)))[0].tolist()
        raise SynparseError(f"number {column} in row {row} of heads, {matrix[row, column]}, is no probability")
    return matrix


def maximum_tree(scores: np.ndarray, roots: np.ndarray | None = None) -> Heads:
    """Heads of the one-rooted tree with the largest sum of ``scores[i, head]`` (N, N) and of its root's ``roots`` (N,).

    Edmonds 1967 in one run: the search walks from a word to its best head, to that one's best head and so on, and when
    it comes back to a word on its way, the circle becomes one node whose arcs cost what opening the circle costs. No
    arc from the root is taken before all words are one node, which is a penalty on root arcs without limit; then the
    best one is, and the circles are opened from the outside in. -inf forbids an arc as far as there is another way.
    """
    count = len(scores)
    if count < 2:
        return (ROOT,) * count
    board = _Board(scores, roots)
    path: list[int] = [0]
    best: dict[int, int] = {}  # node on the path -> the node of its best head
    while board.nodes_left > 1:
        node = path[-1]
        head = best[node] = board.best_head(node)
        if head in best:
            circle = path[path.index(head) :]
            del path[-len(circle) :]
            path.append(board.contract(circle, [best.pop(member) for member in circle]))
        else:
            path.append(head)
    return board.heads(path[0])


class _Board:
    """The arcs between the nodes that are left. A node is known by its row, which it takes over from a member.

    Column N is the root. ``score[a, b]`` is the best arc into node a from node b, and ``arc[a, b]`` the words it joins.
    """

    def __init__(self, scores: np.ndarray, roots: np.ndarray | None) -> None:
        count = self.count = self.nodes_left = len(scores)
        self.score = np.zeros((count, count + 1))
        self.score[:, :count] = scores
        np.fill_diagonal(self.score, 0.0)
        if roots is not None:
            self.score[:, count] = roots
        self.tie = ROUNDING * count * _forbid(self.score)
        np.fill_diagonal(self.score, -np.inf)
        words = np.arange(count)
        self.arc = words[:, None] * (count + 1) + np.arange(count + 1)  # dependent * (N + 1) + head
        self.into, self.arcs_into = list(self.score), list(self.arc)  # rows and columns, which are slow to cut out
        self.words_into = list(self.score[:, :count])
        self.out, self.arcs_out = list(self.score.T), list(self.arc.T)
        # A tree of nodes: words are 0 … N - 1, circles N … in the order of contraction.
        self.node_at = words.tolist()
        self.above: list[int] = [ROOT] * count
        self.members: list[list[int]] = []
        self.chosen: dict[int, int] = {}  # node in a circle -> the arc that leads to it there

    def best_head(self, row: int) -> int:
        """The row of the best head of a node, root aside; the first on ties."""
        return int(self.words_into[row].argmax())

    def contract(self, rows: list[int], heads: list[int]) -> int:
        """Make one node of a circle, where each of ``rows`` has the head beside it; returns the row of the new node."""
        keep = rows[0]
        node = self.count + len(self.members)
        inside = [self.node_at[row] for row in rows]
        for member, row, head in zip(inside, rows, heads, strict=True):
            self.chosen[member] = int(self.arc[row, head])
            self.above[member] = node
        self.members.append(inside)
        self.above.append(ROOT)
        self.node_at[keep] = node

        for row, head in zip(rows, heads, strict=True):  # what it costs to enter the circle here
            self.into[row] -= self.score[row, head]
        for row in rows[1:]:
            first_root = self._first_root(keep, row)
            _take_better(self.into[keep], self.into[row], self.arcs_into[keep], self.arcs_into[row])
            self.score[keep, -1], self.arc[keep, -1] = first_root
            _take_better(self.out[keep], self.out[row], self.arcs_out[keep], self.arcs_out[row])
        for row in rows[1:]:
            self.out[row].fill(-np.inf)
        self.score[keep, keep] = -np.inf
        self.nodes_left -= len(rows) - 1
        return keep

    def _first_root(self, one: int, other: int) -> tuple[float, int]:
        """Score and arc from the root of the better of two nodes; on ties that into the first word."""
        found = [(float(self.score[row, -1]), int(self.arc[row, -1])) for row in (one, other)]
        if abs(found[0][0] - found[1][0]) <= self.tie:
            return min(found, key=lambda pair: pair[1])
        return max(found)

    def heads(self, last: int) -> Heads:
        """The heads of all words, once one node is left: the root's arc opens it, and so on inwards."""
        found = [ROOT] * self.count
        todo = [(self.node_at[last], int(self.arc[last, self.count]))]
        while todo:
            top, arc = todo.pop()
            word, head = divmod(arc, self.count + 1)
            found[word] = ROOT if head == self.count else head
            node = word
            while node != top:
                circle = self.above[node]
                others = self.members[circle - self.count]
                todo += [(other, self.chosen[other]) for other in others if other != node]
                node = circle
        return tuple(found)


def _take_better(scores: np.ndarray, others: np.ndarray, arcs: np.ndarray, other_arcs: np.ndarray) -> None:
    """Put the larger of two rows of scores, and the arcs that go with them, into the first."""
    better = others > scores
    np.copyto(scores, others, where=better)
    np.copyto(arcs, other_arcs, where=better)


def _forbid(scores: np.ndarray) -> float:
    """Put numbers in place of -inf so low that a tree takes none that it need not; returns the largest magnitude."""
    forbidden = scores == -np.inf
    if not forbidden.any():
        return float(np.abs(scores).max())
    if forbidden.all():
        scores.fill(0.0)
        return 0.0
    finite = scores[~forbidden]
    low, high = float(finite.min()), float(finite.max())
    scores[forbidden] = low - (high - low + 1) * len(scores)
    return max(abs(low), abs(high))


def maximum_projective_tree(scores: np.ndarray, roots: np.ndarray | None = None) -> Heads:
    """Heads of the best one-rooted tree without crossing arcs; ``scores`` and ``roots`` as of `maximum_tree`.

    Eisner 1996, all spans of one width at a time. A span is kept under the word at one of its ends and its width, so
    that both parts of every way to split it lie in a row of a table.
    """
    count = len(scores)
    if count < 2:
        return (ROOT,) * count
    board = np.zeros((count, count + 1))
    board[:, :count] = scores
    np.fill_diagonal(board, 0.0)
    if roots is not None:
        board[:, count] = roots
    tie = ROUNDING * count * _forbid(board)
    # right: the head is the first word of the span, left: the last; arc: the word at the other end depends on it
    right_by_first, right_by_last, left_by_first, left_by_last = (np.zeros((count, count)) for _ in range(4))
    arc_right_by_first, arc_left_by_last = np.zeros((count, count)), np.zeros((count, count))
    cuts = np.zeros((3, count, count), dtype=np.int32)  # by first word and width: of arcs, right and left
    rows = np.arange(count)
    for width in range(1, count):
        first, last, spans = slice(count - width), slice(width, count), rows[: count - width]

        halves = right_by_first[first, :width] + left_by_last[last, width - 1 :: -1]
        cut = cuts[0, first, width] = halves.argmax(1)
        best = halves[spans, cut]
        arc_right_by_first[first, width] = best + board[spans + width, spans]
        arc_left_by_last[last, width] = best + board[spans, spans + width]

        halves = arc_right_by_first[first, 1 : width + 1] + right_by_last[last, width - 1 :: -1]
        cut = cuts[1, first, width] = halves.argmax(1)
        right_by_first[first, width] = right_by_last[last, width] = halves[spans, cut]

        halves = left_by_first[first, :width] + arc_left_by_last[last, width:0:-1]
        cut = cuts[2, first, width] = halves.argmax(1)
        left_by_first[first, width] = left_by_last[last, width] = halves[spans, cut]
    totals = left_by_first[0] + right_by_last[-1, ::-1] + board[:, count]
    root = int(np.flatnonzero(totals >= totals.max() - tie)[0])
    return _follow(root, cuts.tolist())


def _follow(root: int, cuts: list[list[list[int]]]) -> Heads:
    """The heads that the cuts of `maximum_projective_tree` record, from the root outwards."""
    of_arc, of_right, of_left = cuts
    count = len(of_arc)
    heads = [ROOT] * count
    todo = [(0, root, False), (root, count - 1, True)]  # first word, last word, whether the first is the head
    while todo:
        first, last, right = todo.pop()
        if first == last:
            continue
        width = last - first
        if right:
            inner = first + 1 + of_right[first][width]
            heads[inner] = first
            todo.append((inner, last, True))
            last = inner
        else:
            inner = first + of_left[first][width]
            heads[inner] = last
            todo.append((first, inner, False))
            first = inner
        cut = first + of_arc[first][last - first]
        todo += [(first, cut, True), (cut + 1, last, False)]
    return tuple(heads)
