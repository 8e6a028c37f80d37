"""Tests of metadata files and records: round trips, schemas, and damage of every byte."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from treebank.base.errors import SynparseError
from treebank.base.metadata import (
    FileFormat,
    MetadataError,
    append_records,
    decode,
    encode,
    has_nan,
    json_text,
    read_metadata,
    read_records,
    write_metadata,
)


@dataclass(frozen=True)
class Part:
    """A nested record with a limited value."""

    weight: float

    def __post_init__(self) -> None:
        if self.weight < 0:
            raise ValueError("weight is negative")


@dataclass(frozen=True)
class Note:
    """A record with a field of each type."""

    name: str
    count: int = 0
    loss: float = 0.0
    side: Literal["left", "right"] = "left"
    bits: float | None = None
    parts: tuple[Part, ...] = ()
    values: dict[str, int] = field(default_factory=dict)
    extra: Any = None


FORMAT = FileFormat(1, "a note", "write it again")
NOTE = Note("a", 3, math.inf, "right", 1.5, (Part(2.0), Part(0.5)), {"x": 1}, [1, "two"])


def read(path: Path) -> Note:
    return read_metadata(path, Note, FORMAT)


def test_round_trip(tmp_path: Path) -> None:
    for note in (NOTE, Note("b"), Note("\udcff")):
        write_metadata(tmp_path / "note.json", note, FORMAT)
        assert read(tmp_path / "note.json") == note
    assert encode(Note("b")) == {"name": "b"}


def test_every_flipped_bit_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "note.json"
    write_metadata(path, NOTE, FORMAT)
    data = path.read_bytes()
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(bytes(damaged))
        try:
            same = json.loads(bytes(damaged)) == json.loads(data)
        except ValueError:
            same = False
        if not same:
            with pytest.raises(MetadataError, match=r"note\.json"):
                read(path)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"count": "3"}, "'count' cannot be '3'"),
        ({"count": True}, "'count' cannot be True"),
        ({"count": 1.0}, "'count' cannot be 1.0"),
        ({"side": "up"}, "'side' cannot be 'up'"),
        ({"parts": [{"weight": -1}]}, "weight is negative"),
        ({"parts": [{}]}, "'weight' is missing"),
        ({"parts": {}}, "'parts' cannot be"),
        ({"values": {"x": "1"}}, "'values.x' cannot be '1'"),
        ({"more": 1}, "unknown field 'more'"),
        ({"name": None}, "'name' cannot be None"),
    ],
)
def test_wrong_field_is_named(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        decode(Note, {"name": "a", **changes})


def test_missing_file_and_device_are_errors(tmp_path: Path) -> None:
    with pytest.raises(MetadataError, match="missing"):
        read(tmp_path / "note.json")
    with pytest.raises(MetadataError, match="not a regular file"):
        read(Path("/dev/zero"))


def test_records_survive_a_torn_last_line(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    assert read_records(path, Note, remedy="remove it") == []
    for note in (NOTE, Note("b")):
        append_records(path, [note])
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"name": "c", "sha')
    assert read_records(path, Note, remedy="remove it") == [NOTE, Note("b")]
    assert path.read_bytes() == whole
    path.write_bytes(whole.replace(b'"b"', b'"c"'))
    with pytest.raises(SynparseError, match=r"records\.jsonl:2: this line is damaged .*; remove it"):
        read_records(path, Note, remedy="remove it")


def test_numbers_that_are_not_finite_become_null() -> None:
    value = {"a": [1.5, math.nan, {"b": math.inf}], "c": 0.1 + 0.2}
    assert json.loads(json_text(value)) == {"a": [1.5, None, {"b": None}], "c": 0.1 + 0.2}
    assert has_nan(value)
    assert not has_nan({"a": [1, "NaN", math.inf]})
