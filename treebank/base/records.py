"""Append-only files of JSON lines, each with a digest: a list of results that survives a kill at any moment.

A last line without a line end was being written when the process was killed, and is dropped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any, TypeVar

from treebank.base.errors import SynparseError, placed
from treebank.base.metadata import decode, encode, one_line, seal, unseal

Record = TypeVar("Record")


def append_records(path: str | os.PathLike[str], records: Iterable[Any], *, synced: bool = True) -> None:
    """Append dataclasses to a file of records and, if ``synced``, wait until they are on the disk.

    Without ``synced``, the records survive a kill of the process, but perhaps not a power failure.
    """
    lines = [json.dumps(seal(encode(record)), ensure_ascii=True).encode("ascii") + b"\n" for record in records]
    if not lines:
        return
    with placed(path), open(path, "ab") as stream:
        stream.write(b"".join(lines))
        stream.flush()
        if synced:
            os.fsync(stream.fileno())


def read_records(path: str | os.PathLike[str], record: type[Record], *, remedy: str) -> list[Record]:
    """The records in a file, none if it does not exist. An incomplete last line is removed from the file.

    Raises SynparseError, with the ``remedy``, for a damaged line.
    """
    if not os.path.exists(path):
        return []
    with placed(path), open(path, "rb") as stream:
        content = stream.read()
    complete = content[: content.rfind(b"\n") + 1]
    records = []
    for number, line in enumerate(complete.splitlines(), 1):
        try:
            records.append(decode(record, unseal(json.loads(line))))
        except (ValueError, RecursionError) as error:
            problem = f"this line is damaged ({one_line(error)})"
            raise SynparseError(f"{os.fspath(path)}:{number}: {problem}; {remedy}") from None
    if len(complete) < len(content):
        os.truncate(path, len(complete))
    return records
