"""Head distributions to heads: exactly one root but for `argmax`, the first root on ties, no recursion.

Row i of a matrix says how probable each word is as head of word i; in what is returned ``ROOT`` is the head of a root.
`chu-liu-edmonds` and `eisner` maximize the sum of log(p + 1e-9) over the arcs. By default any word is the root at no
cost, as in the released programs of UDGN and StructFormer (Shen et al. 2021, 2022), whatever the diagonal holds. With
``root="counted"`` the diagonal is P(word is the root), and the entry of the root is part of the sum; it is the default
for models that estimate P(root). A number that is not a probability raises SynparseError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from treebank.base.errors import SynparseError
from treebank.core.dependency import Heads
from treebank.core.sentence import ROOT

Matrix = Sequence[Sequence[float]] | np.ndarray
Root = Literal["free", "counted"]
SMALLEST = 1e-9  # added to each probability, so that a tree can be had from any of them
EITHER_WAY = 0.5  # what an arc is worth that points the wrong way, beside one that points the right way
TOGETHER = 100_000  # numbers of a table for the sentences that are decoded side by side
ROUNDING = 2.0**-52  # of a sum, relative to each of its parts: roots whose trees differ by no more are tied


def argmax(probability: Matrix) -> Heads:
    """Each word's most probable head, the first on ties; a word that chooses itself is a root. Not always a tree.

    >>> argmax([[0.1, 0.9, 0.0], [0.8, 0.2, 0.0], [0.0, 0.7, 0.3]])
    (1, 0, 1)
    """
    matrix = _probabilities(probability)
    if not len(matrix):
        return ()
    return tuple(ROOT if head == i else head for i, head in enumerate(matrix.argmax(1).tolist()))


def chu_liu_edmonds(probability: Matrix, *, root: Root = "free") -> Heads:
    """The heads of the best tree; its arcs may cross. Quadratic time.

    >>> chu_liu_edmonds([[0.1, 0.9, 0.0], [0.8, 0.2, 0.0], [0.0, 0.7, 0.3]])
    (1, -1, 1)
    """
    return maximum_tree(*_scores(probability, root))


def eisner(probability: Matrix, *, root: Root = "free") -> Heads:
    """The heads of the best tree whose arcs do not cross. Cubic time."""
    return maximum_projective_tree(*_scores(probability, root))


def eisner_together(probabilities: Sequence[Matrix], *, root: Root = "free") -> list[Heads]:
    """`eisner` of several sentences; those of one length are decoded together."""
    return maximum_projective_trees([_scores(probability, root) for probability in probabilities])


def mbr_heads(probability: Matrix) -> Heads:
    """The heads of the tree without crossing arcs in which most words are expected to have their head.

    It maximises the sum of the probabilities themselves, the root's own entry included (minimum Bayes risk: Smith and
    Smith 2007), where `eisner` looks for the most probable tree.
    """
    return mbr_heads_together([probability])[0]


def mbr_heads_together(probabilities: Sequence[Matrix]) -> list[Heads]:
    """`mbr_heads` of several sentences; those of one length are done side by side."""
    matrices = [_probabilities(one) for one in probabilities]
    return maximum_projective_trees([(matrix, matrix.diagonal()) for matrix in matrices])


def mbr_arcs(probability: Matrix) -> Heads:
    """The heads of the tree without crossing arcs that is expected to score best when arcs are counted both ways.

    To the probability of each head is added `EITHER_WAY` times that of the same arc turned round: where a model knows
    that two words belong together, but not which is the head, the arc between them is kept.
    """
    return mbr_arcs_together([probability])[0]


def mbr_arcs_together(probabilities: Sequence[Matrix]) -> list[Heads]:
    """`mbr_arcs` of several sentences; those of one length are done side by side."""
    return mbr_heads_together([_either_way(_probabilities(one)) for one in probabilities])


def _either_way(matrix: np.ndarray) -> np.ndarray:
    """The expected share of right heads, and of right arcs whichever way they point, with the weight `EITHER_WAY`."""
    gains: np.ndarray = matrix + EITHER_WAY * matrix.T  # a root is right in both counts or in none
    return gains


def _scores(probability: Matrix, root: Root) -> tuple[np.ndarray, np.ndarray | None]:
    """Log probabilities of the arcs, and of each word as the root where that counts."""
    matrix = _probabilities(probability)
    scores = np.log(matrix + SMALLEST)
    return scores, scores.diagonal() if root == "counted" else None


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
    path, on_path = [0], {0}
    while board.nodes_left > 1:
        head = board.best_head(path[-1])
        if head in on_path:
            circle = path[path.index(head) :]
            del path[-len(circle) + 1 :]
            on_path.difference_update(circle[1:])
            board.contract(circle)
        else:
            path.append(head)
            on_path.add(head)
    return board.heads(path[0])


class _Board:
    """The arcs into the nodes that are left. A node is known by its row, which it takes over from a member.

    ``into[row][word]`` is the best arc into a node from each word outside, ``dependent[row]`` the words it leads to;
    ``root`` and ``root_word`` are the same for the arc from the root.
    """

    def __init__(self, scores: np.ndarray, roots: np.ndarray | None) -> None:
        count = self.count = self.nodes_left = len(scores)
        board, self.tie = _whole(scores, roots)
        np.fill_diagonal(board, -np.inf)
        arcs, self.root = board[:, :count], board[:, count].tolist()
        self.into, self.dependent = list(arcs), list(np.arange(count).repeat(count).reshape(count, count))
        self.best: list[int] = arcs.argmax(1).tolist()  # word that is the best head of a node, root aside
        self.root_word, self.row_of = list(range(count)), list(range(count))
        self.words = [[word] for word in range(count)]
        # A tree of nodes: words are 0 … N - 1, circles N … in the order of contraction.
        self.node_at = list(range(count))
        self.above: list[int] = [ROOT] * count
        self.members: list[list[int]] = []
        self.chosen: dict[int, tuple[int, int]] = {}  # node in a circle -> the arc that leads to it there

    def best_head(self, row: int) -> int:
        """The row of the best head of a node, root aside; the first word's on ties."""
        return self.row_of[self.best[row]]

    def contract(self, rows: list[int]) -> None:
        """Make one node of a circle, in which each of ``rows`` has its best head; it takes over the first row."""
        keep, node = rows[0], self.count + len(self.members)
        inside = [self.node_at[row] for row in rows]
        for member, row in zip(inside, rows, strict=True):
            head, into = self.best[row], self.into[row]
            self.chosen[member] = self.dependent[row].item(head), head
            self.above[member] = node
            lost = into.item(head)  # if the circle is entered here
            into -= lost
            self.root[row] -= lost
        self.members.append(inside)
        self.above.append(ROOT)
        self.node_at[keep] = node
        into, dependent, words = self.into[keep], self.dependent[keep], self.words[keep]
        for row in rows[1:]:
            better = self.into[row] > into
            np.putmask(dependent, better, self.dependent[row])
            np.maximum(into, self.into[row], out=into)
            self._take_better_root(keep, row)
            words += self.words[row]
            for word in self.words[row]:
                self.row_of[word] = keep
        into[words] = -np.inf
        self.best[keep] = int(into.argmax())
        self.nodes_left -= len(rows) - 1

    def _take_better_root(self, keep: int, row: int) -> None:
        """Let ``keep`` have the better arc from the root of two; on ties that into the first word."""
        gain, earlier = self.root[row] - self.root[keep], self.root_word[row] < self.root_word[keep]
        if gain > self.tie or (earlier and gain >= -self.tie):
            self.root[keep], self.root_word[keep] = self.root[row], self.root_word[row]

    def heads(self, last: int) -> Heads:
        """The heads of all words, once one node is left: the root's arc opens it, and so on inwards."""
        found = [ROOT] * self.count
        todo = [(self.node_at[last], self.root_word[last], ROOT)]
        while todo:
            top, word, head = todo.pop()
            found[word] = head
            node = word
            while node != top:
                circle = self.above[node]
                others = self.members[circle - self.count]
                todo += [(other, *self.chosen[other]) for other in others if other != node]
                node = circle
        return tuple(found)


def _whole(scores: np.ndarray, roots: np.ndarray | None) -> tuple[np.ndarray, float]:
    """Scores (N, N + 1), those of the root in the last column, and what difference of two trees is only rounding.

    In the place of -inf stand numbers so low that a tree takes none that it need not.
    """
    count = len(scores)
    board = np.zeros((count, count + 1))
    board[:, :count] = scores
    np.fill_diagonal(board, 0.0)
    if roots is not None:
        board[:, count] = roots
    low, high = float(board.min(initial=0.0)), float(board.max(initial=0.0))  # there is a 0 for each word
    if low == -np.inf:
        forbidden = board == low
        low = float(board.min(initial=0.0, where=~forbidden))
        board[forbidden] = low - (high - low + 1) * count
    return board, ROUNDING * count * max(abs(low), abs(high))


def maximum_projective_tree(scores: np.ndarray, roots: np.ndarray | None = None) -> Heads:
    """Heads of the best one-rooted tree without crossing arcs; ``scores`` and ``roots`` as of `maximum_tree`."""
    return maximum_projective_trees([(scores, roots)])[0]


def maximum_projective_trees(given: Sequence[tuple[np.ndarray, np.ndarray | None]]) -> list[Heads]:
    """The same of several sentences, which are taken together where they have as many words as each other."""
    of_length: dict[int, list[int]] = {}
    for place, (scores, _) in enumerate(given):
        of_length.setdefault(len(scores), []).append(place)
    heads: list[Heads] = [()] * len(given)
    for count, places in of_length.items():
        size = max(1, TOGETHER // max(1, count**2))
        for some in (places[start : start + size] for start in range(0, len(places), size)):
            boards, ties = zip(*(_whole(*given[place]) for place in some), strict=True)
            for place, tree in zip(some, _best_trees(np.stack(boards), np.array(ties)), strict=True):
                heads[place] = tree
    return heads


def _best_trees(boards: np.ndarray, ties: np.ndarray) -> list[Heads]:
    """The trees of boards (B, N, N + 1) of one length; see `_whole`.

    Eisner 1996, all spans of one width at a time. A span is kept under the word at one of its ends and its width, so
    that both parts of every way to split it lie in a row of a table.
    """
    batch, count = boards.shape[:2]
    if count < 2:
        return [(ROOT,) * count] * batch
    # right: the head is the first word of the span, left: the last; arc: the word at the other end depends on it
    tables = np.zeros((6, batch, count, count))
    right_by_first, right_by_last, left_by_first, left_by_last, arc_right_by_first, arc_left_by_last = tables
    cuts = np.zeros((3, batch, count, count), dtype=np.int32)  # by first word and width: of arcs, right and left
    rows, sentences = np.arange(count), np.arange(batch)[:, None]
    for width in range(1, count):
        first, last, spans = slice(count - width), slice(width, count), rows[: count - width]

        halves = right_by_first[:, first, :width] + left_by_last[:, last, width - 1 :: -1]
        cut = cuts[0, :, first, width] = halves.argmax(2)
        best = halves[sentences, spans, cut]
        arc_right_by_first[:, first, width] = best + boards[:, spans + width, spans]
        arc_left_by_last[:, last, width] = best + boards[:, spans, spans + width]

        halves = arc_right_by_first[:, first, 1 : width + 1] + right_by_last[:, last, width - 1 :: -1]
        cut = cuts[1, :, first, width] = halves.argmax(2)
        right_by_first[:, first, width] = right_by_last[:, last, width] = halves[sentences, spans, cut]

        halves = left_by_first[:, first, :width] + arc_left_by_last[:, last, width:0:-1]
        cut = cuts[2, :, first, width] = halves.argmax(2)
        left_by_first[:, first, width] = left_by_last[:, last, width] = halves[sentences, spans, cut]
    totals = left_by_first[:, 0] + right_by_last[:, -1, ::-1] + boards[:, :, count]
    roots = (totals >= totals.max(1, keepdims=True) - ties[:, None]).argmax(1)
    return [_follow(root, cuts[:, place].tolist()) for place, root in enumerate(roots.tolist())]


def _follow(root: int, cuts: list[list[list[int]]]) -> Heads:
    """The heads that the cuts of `_best_trees` record, from the root outwards."""
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
