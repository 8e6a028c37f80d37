"""Heads from head distributions, without recursion.

Every decoder except `argmax` returns exactly one root, on ties the first. Row i of a matrix is the distribution over
the head of word i; in the results, ``ROOT`` is the head of a root.
`chu-liu-edmonds` and `eisner` maximize the sum of log(p + 1e-9) over the arcs. By default any word is the root at no
cost, as in the released programs of UDGN and StructFormer (Shen et al. 2021, 2022), whatever the diagonal holds. With
``root="counted"`` the diagonal is P(word is the root), and the entry of the root is part of the sum; it is the default
for models that estimate P(root). A number that is not a probability raises SynparseError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count as counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from induce.data.batches import batches_of_equal_length
from treebank.base.errors import SynparseError
from treebank.core.dependency import Heads, phrases
from treebank.core.sentence import ROOT

Array = np.ndarray
Matrix = Sequence[Sequence[float]] | Array
Root = Literal["free", "counted"]
Split = tuple[int, int, int]  # of a phrase: its first word, the first word of its right half, and the word after it
Masks = NDArray[np.bool_]  # heads that each word may have, the root in column N
ScoredHeads = tuple[float, Heads]
BestHeads = Callable[[Masks], Sequence[ScoredHeads]]  # the best tree under each mask (C, N, N + 1), -inf without any
EPSILON = 1e-9  # added to each probability, so that every arc has a finite score
REVERSED_ARC_WEIGHT = 0.5  # value of a reversed arc; a correct arc counts 1
MAX_TABLE_NUMBERS = 100_000  # in one table, for the sentences of a batch
ROUNDING = 2.0**-52  # relative rounding error of a sum: roots whose trees differ by less are tied


def argmax(probability: Matrix) -> Heads:
    """Most probable head of each word, on ties the first.

    A word that is its own most probable head is a root. The heads do not always form a tree.

    >>> argmax([[0.1, 0.9, 0.0], [0.8, 0.2, 0.0], [0.0, 0.7, 0.3]])
    (1, 0, 1)
    """
    matrix = _probabilities(probability)
    if not len(matrix):
        return ()
    return tuple(ROOT if head == i else head for i, head in enumerate(matrix.argmax(1).tolist()))


def chu_liu_edmonds(probability: Matrix, *, root: Root = "free") -> Heads:
    """Heads of the tree with the largest sum of log-probabilities, which may have crossing arcs, in quadratic time.

    Row i of ``probability`` (N, N) is the distribution over the head of word i, with the root on the diagonal.

    >>> chu_liu_edmonds([[0.1, 0.9, 0.0], [0.8, 0.2, 0.0], [0.0, 0.7, 0.3]])
    (1, -1, 1)
    """
    return maximum_tree(*log_scores(probability, root))


@dataclass(frozen=True)
class Projective:
    """Decoder of the tree without crossing arcs that has the largest sum of scores, in cubic time (Eisner 1996).

    ``scores`` is a function from a head distribution (N, N), with the root on the diagonal, and the options of the
    decoder to the scores of arcs (N, N) and of roots (N,), or None if roots do not count.
    """

    scores: Callable[..., tuple[Array, Array | None]]

    def __call__(self, probability: Matrix, **options: Any) -> Heads:
        """Heads of the best tree."""
        return maximum_projective_tree(*self.scores(probability, **options))

    def decode_all(self, probabilities: Sequence[Matrix], **options: Any) -> list[Heads]:
        """Heads of several sentences, with one batch for each length."""
        return maximum_projective_trees([self.scores(probability, **options) for probability in probabilities])

    def k_best(self, probability: Matrix, k: int, **options: Any) -> list[ScoredHeads]:
        """The ``k`` best trees, each with the sum of its scores."""
        scores, roots = self.scores(probability, **options)
        words = len(scores)
        board = np.concatenate([scores, np.zeros((words, 1)) if roots is None else roots[:, None]], 1)

        def best_heads(masks: Masks) -> list[ScoredHeads]:
            boards = np.where(masks, board, -np.inf)
            trees = maximum_projective_trees([(board[:, :words], board[:, words]) for board in boards])
            return [(float(board[range(words), tree].sum()), tree) for board, tree in zip(boards, trees, strict=True)]

        return k_best_heads(best_heads, words, k)


def mbr_head_scores(probability: Matrix) -> tuple[Array, Array]:
    """Probabilities (N, N) of the arcs, and (N,) of each word as the root."""
    matrix = _probabilities(probability)
    return matrix, matrix.diagonal()


def mbr_arc_scores(probability: Matrix) -> tuple[Array, Array]:
    """Probability (N, N) of each arc plus `REVERSED_ARC_WEIGHT` times that of the reversed arc, and of roots (N,)."""
    matrix = _probabilities(probability)
    gains = matrix + REVERSED_ARC_WEIGHT * matrix.T  # the diagonal counts 1.5: a root is correct both ways
    return gains, gains.diagonal()


def log_scores(probability: Matrix, root: Root = "free") -> tuple[Array, Array | None]:
    """Log probabilities (N, N) of the arcs and, if roots are counted, of each word as the root (N,)."""
    matrix = _probabilities(probability)
    scores = np.log(matrix + EPSILON)
    return scores, scores.diagonal() if root == "counted" else None


#: the most probable tree
eisner = Projective(log_scores)
#: the largest expected number of correct heads (minimum Bayes risk; Smith and Smith 2007)
mbr_heads = Projective(mbr_head_scores)
#: the best expected score if reversed arcs count as well: if a model is certain that two words are connected, but not
#: which of them is the head, the tree contains an arc between them
mbr_arcs = Projective(mbr_arc_scores)


def _probabilities(probability: Matrix) -> Array:
    """Matrix (N, N) in float64. Raises SynparseError if it is not square or a number is not a probability."""
    try:
        matrix = np.asarray(probability, dtype=np.float64)
    except (ValueError, OverflowError):
        raise SynparseError("the rows of heads differ in length; one number per word is needed in each") from None
    if matrix.size == 0 and len(matrix) == 0:
        return np.zeros((0, 0))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        shape = " x ".join(map(str, matrix.shape))
        raise SynparseError(f"heads are {shape} numbers; a square with a row for each word is needed")
    if not ((matrix >= 0) & (matrix < np.inf)).all():
        row, column = np.argwhere(~((matrix >= 0) & (matrix < np.inf)))[0].tolist()
        raise SynparseError(f"number {column} in row {row} of heads, {matrix[row, column]}, is not a probability")
    return matrix


def maximum_tree(scores: Array, roots: Array | None = None) -> Heads:
    """Heads of the one-rooted tree with the largest sum of ``scores[i, head]`` (N, N) and of its root's ``roots`` (N,).

    This is Edmonds' algorithm (1967) in one pass. The search follows best heads from a word; when it returns to a
    word on its path, the cycle is contracted to one node, and the arcs into this node cost as much as opening the
    cycle. Arcs from the root are used only after all words form one node, which amounts to an unlimited penalty on
    root arcs. Then the best root arc is chosen and the cycles are opened from the outside in. An arc with the score
    -inf is used only if there is no other tree.
    """
    count = len(scores)
    if count < 2:
        return (ROOT,) * count
    board = _Board(scores, roots)
    path, on_path = [0], {0}
    while board.nodes_left > 1:
        head = board.best_head(path[-1])
        if head in on_path:
            cycle = path[path.index(head) :]
            del path[-len(cycle) + 1 :]
            on_path.difference_update(cycle[1:])
            board.contract(cycle)
        else:
            path.append(head)
            on_path.add(head)
    return board.heads(path[0])


class _Board:
    """Arcs into the remaining nodes. A node is identified by its row, which is the row of one of its members.

    ``into[row][word]`` is the score of the best arc into a node from each word outside it, ``dependent[row]`` the
    words to which these arcs lead; ``root`` and ``root_word`` are the same for the arc from the root.
    """

    def __init__(self, scores: Array, roots: Array | None) -> None:
        count = self.count = self.nodes_left = len(scores)
        board, self.tie = _score_board(scores, roots)
        np.fill_diagonal(board, -np.inf)
        arcs, self.root = board[:, :count], board[:, count].tolist()
        self.into, self.dependent = list(arcs), list(np.arange(count).repeat(count).reshape(count, count))
        self.best: list[int] = arcs.argmax(1).tolist()  # word that is the best head of a node, without the root
        self.root_word, self.row_of = list(range(count)), list(range(count))
        self.words = [[word] for word in range(count)]
        #: word, head and all words of each node of a cycle with the arc of the cycle that leads to it, in the order of
        #: contraction
        self.cycles: list[list[tuple[int, int, list[int]]]] = []

    def best_head(self, row: int) -> int:
        """Row of the best head of a node without the root, on ties that of the first word."""
        return self.row_of[self.best[row]]

    def contract(self, rows: list[int]) -> None:
        """Contract the cycle ``rows`` to one node, which is stored in the first of these rows."""
        keep, cycle = rows[0], []
        for row in rows:
            head, into = self.best[row], self.into[row]
            cycle.append((self.dependent[row].item(head), head, self.words[row]))
            lost = into.item(head)  # score of the arc that is removed if the cycle is entered at this node
            into -= lost
            self.root[row] -= lost
        self.cycles.append(cycle)
        into, dependent = self.into[keep], self.dependent[keep]
        words = self.words[keep] = [word for row in rows for word in self.words[row]]
        for row in rows[1:]:
            better = self.into[row] > into
            np.putmask(dependent, better, self.dependent[row])
            np.maximum(into, self.into[row], out=into)
            gain, earlier = self.root[row] - self.root[keep], self.root_word[row] < self.root_word[keep]
            if gain > self.tie or (earlier and gain >= -self.tie):  # on ties the arc into the first word
                self.root[keep], self.root_word[keep] = self.root[row], self.root_word[row]
            for word in self.words[row]:
                self.row_of[word] = keep
        into[words] = -np.inf
        self.best[keep] = int(into.argmax())
        self.nodes_left -= len(rows) - 1

    def heads(self, last: int) -> Heads:
        """Heads of all words after contraction to one node, whose cycles are opened from the outside in."""
        heads = {self.root_word[last]: ROOT}
        for cycle in reversed(self.cycles):
            for word, head, words in cycle:
                if heads.keys().isdisjoint(words):  # another node of the cycle has the arc from outside
                    heads[word] = head
        return tuple(heads[word] for word in range(self.count))


def _score_board(scores: Array, roots: Array | None) -> tuple[Array, float]:
    """Scores (N, N + 1) with those of the root in the last column, and the rounding error of the sum over a tree.

    -inf is replaced by numbers so low that a tree contains such an arc only if it cannot be avoided.
    """
    count = len(scores)
    board = np.zeros((count, count + 1))
    board[:, :count] = scores
    np.fill_diagonal(board, 0.0)
    if roots is not None:
        board[:, count] = roots
    low, high = float(board.min(initial=0.0)), float(board.max(initial=0.0))  # the diagonal holds a 0 for each word
    if low == -np.inf:
        forbidden = board == low
        low = float(board.min(initial=0.0, where=~forbidden))
        board[forbidden] = low - (high - low + 1) * count
    return board, ROUNDING * count * max(abs(low), abs(high))


def maximum_projective_tree(scores: Array, roots: Array | None = None) -> Heads:
    """Heads of the best one-rooted tree without crossing arcs, with arguments as in `maximum_tree`."""
    return maximum_projective_trees([(scores, roots)])[0]


def maximum_projective_trees(sentences: Sequence[tuple[Array, Array | None]]) -> list[Heads]:
    """Heads of several sentences by `maximum_projective_tree`, with one batch for each length."""
    heads: list[Heads] = [()] * len(sentences)
    lengths = [len(scores) for scores, _ in sentences]
    for batch, _ in batches_of_equal_length(lengths, lambda count: MAX_TABLE_NUMBERS // max(1, count**2)):
        boards, ties = zip(*(_score_board(*sentences[index]) for index in batch), strict=True)
        for index, tree in zip(batch, _best_trees(np.stack(boards), np.array(ties)), strict=True):
            heads[index] = tree
    return heads


def _best_trees(boards: Array, ties: Array) -> list[Heads]:
    """Heads of the best projective trees of boards (B, N, N + 1) from `_score_board`, all of one length.

    Algorithm of Eisner (1996), for all spans of one width at once. A span is stored under its width and the word at
    one of its ends, so that the parts of all its splits are in one row of a table.
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
    return [_follow(root, cuts[:, index].tolist()) for index, root in enumerate(roots.tolist())]


def _follow(root: int, cuts: list[list[list[int]]]) -> Heads:
    """Heads of one sentence, traced from ``root`` through the best split points ``cuts`` of `_best_trees`."""
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


def heads_to_tree(probability: Matrix, *, root: Root = "free") -> list[tuple[int, int]]:
    """Brackets of the heads that `eisner` returns: one phrase for each word with dependents.

    A phrase spans the word and all words that depend on it directly or indirectly. Phrases are flat.
    """
    return phrases(eisner(probability, root=root))


def branching(count: int, *, right: bool) -> list[Split]:
    """Splits of the purely right-branching or left-branching tree over ``count`` words, from the top."""
    if right:
        return [(start, start + 1, count) for start in range(count - 1)]
    return [(0, end - 1, end) for end in range(count, 1, -1)]


def best_in_tree(gains: Array, splits: Sequence[Split]) -> list[int]:
    """Head of each word, or the word itself for the root, in the best dependency tree that agrees with ``splits``.

    The tree has the largest sum of ``gains`` (N, N). Row i contains the gain of each word as head of word i, and the
    diagonal that of each word as the root. In ``splits`` each phrase follows the phrases that contain it.

    Each phrase of the binary tree has one head; where two phrases are joined, the head of one depends on the head of
    the other, so that 2^(N-1) dependency trees agree with the tree. For each phrase, from the bottom up, the best score
    with each of its words as the head is stored. Every pair of words is compared once.
    """
    heads = list(range(len(gains)))
    best = np.zeros(len(gains))  # of the largest phrase so far that contains the word, with this word as its head
    chosen: list[tuple[Array, Array]] = []
    for start, middle, end in reversed(splits):
        left, right = slice(start, middle), slice(middle, end)
        under_left = gains[right, left] + best[right, None]  # (words of the right half, heads in the left one)
        under_right = gains[left, right] + best[left, None]
        chosen.append((under_left.argmax(0), under_right.argmax(0)))
        best[left] += under_left.max(0)
        best[right] += under_right.max(0)
    head_of = {(0, len(gains)): int((best + gains.diagonal()).argmax())} if len(gains) else {}
    for (start, middle, end), (of_left, of_right) in zip(splits, reversed(chosen), strict=True):
        head = head_of[start, end]
        under = middle + int(of_left[head - start]) if head < middle else start + int(of_right[head - middle])
        heads[under] = head
        head_of[start, middle], head_of[middle, end] = (head, under) if head < middle else (under, head)
    return heads


def heads_in_tree(heads: Array, splits: Sequence[Split]) -> Array:
    """Votes (N, N) for the arcs of the best dependency tree that agrees with ``splits``, by a head distribution (N, N).

    The gain of an arc is its probability plus `REVERSED_ARC_WEIGHT` times that of the reversed arc. The tree is better
    evidence for which words are connected than for which of them is the head. The reversed arc of each selected arc
    therefore receives the probability that ``heads`` assigns to it, and the selected arc the rest.
    """
    words = np.arange(len(heads))
    reversed_arcs = np.where(np.eye(len(heads), dtype=bool), 0.0, heads.T)
    best_heads = best_in_tree(heads + REVERSED_ARC_WEIGHT * reversed_arcs, splits)
    reversed_votes = reversed_arcs[words, best_heads]
    votes = np.zeros_like(heads)
    votes[best_heads, words] = reversed_votes
    votes[words, best_heads] = 1.0 - reversed_votes
    return votes


def k_best_heads(best_heads: BestHeads, words: int, k: int) -> list[ScoredHeads]:
    """The ``k`` best trees over so many ``words`` with their scores, best first, or fewer if there are not so many.

    The best tree of a set of trees divides the others: part i consists of the trees that agree with it on the heads of
    the words before i, and have another head of word i. The next best tree is the best of all parts (Lawler 1972). Any
    algorithm for the best tree under restrictions will do.
    """
    if not words:
        return [(0.0, ())]
    order = counter()  # of equal trees, the one that was found first wins
    waiting: list[tuple[float, int, Heads, int, Masks]] = []
    ranked: list[ScoredHeads] = []
    masks, firsts = np.ones((1, words, words + 1), dtype=bool), [0]  # and the first word that a mask may divide by
    while True:
        for (score, heads), first, mask in zip(best_heads(masks), firsts, masks, strict=True):
            if score > -np.inf:
                heappush(waiting, (-score, next(order), heads, first, mask))
        if not waiting or len(ranked) == k:
            return ranked
        cost, _, heads, first, mask = heappop(waiting)
        ranked.append((-cost, heads))
        firsts = list(range(first, words))
        masks = mask[None].repeat(len(firsts), 0)
        for part, word in zip(masks, firsts, strict=True):
            part[first:word] = False
            part[range(first, word), heads[first:word]] = True  # ROOT = -1 is the last column
            part[word, heads[word]] = False
