"""Stack decisions to brackets: linear time, no recursion.

``slots`` has one entry per word, the slot of the stack where its head is after the reductions before the word; slot 0
is the newest. The result holds every bracket of two or more words, the whole sentence included, each once and in no
particular order.
"""

from __future__ import annotations

from collections.abc import Sequence

from treebank.base.errors import SynparseError


def shift_reduce(slots: Sequence[int]) -> list[tuple[int, int]]:
    """Brackets of the binary tree that a shift-reduce parser builds (Shen 2022, thesis, algorithm 3).

    A word whose slot lies d > 0 above the one below that of the word before it joins the two newest constituents d
    times, as far as there are two. The first entry counts too: the published program puts the number of slots there.
    """
    chosen = list(slots.tolist() if hasattr(slots, "tolist") else slots)
    if any(slot < 0 for slot in chosen):
        raise SynparseError(f"slot {min(chosen)}: slots count from 0")
    starts = [0]  # first word of each constituent on the stack
    spans: list[tuple[int, int]] = []
    for i in range(1, len(chosen)):
        for _ in range(chosen[i] - chosen[i - 1] + 1):
            if len(starts) < 2:
                break
            starts.pop()
            spans.append((starts[-1], i))
        starts.append(i)
    spans += [(start, len(chosen)) for start in starts[:-1]]
    return spans
