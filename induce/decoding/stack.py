"""Brackets from stack decisions, without recursion and in linear time.

``slots`` has one entry per word: the stack slot of its head after the reductions before the word. Slot 0 is the newest.
The result contains every bracket of two or more words once, including the full-sentence span, in no particular order.
"""

from __future__ import annotations

from collections.abc import Sequence

from treebank.base.errors import SynparseError


def shift_reduce(slots: Sequence[int]) -> list[tuple[int, int]]:
    """Brackets of the binary tree that a shift-reduce parser builds (Shen 2022, thesis, algorithm 3).

    Before each word, the two newest constituents are joined d times, if there are two, where d is the slot of the word
    minus that of the preceding word plus 1. The first entry counts too: in the published program it is the number of
    slots.
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
