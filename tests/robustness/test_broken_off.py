"""The scripts that interrupt calls and write hostile lines."""

from __future__ import annotations

from bench import toys
from bench.calls import kinds
from bench.hostile import blocks
from induce.registry import MODELS


def test_interrupted_calls() -> None:
    assert set(toys.SMALL) == set(MODELS)
    names = [kind.name for kind in kinds()]
    assert len(set(names)) == len(names)
    assert {*toys.SMALL, *toys.TASKS} < set(names)


def test_hostile_lines_depend_only_on_their_seed() -> None:
    first, again = (list(blocks(2500, seed=5)) for _ in range(2))
    assert first == again
    assert [data.count(b"\n") for data, _ in first] == [len(line_count) for _, line_count in first] == [1000, 1000, 500]
