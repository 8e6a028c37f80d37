"""Batches of output files: their texts are recorded together, and the files are synced to the disk together.

Waiting for the disk takes longer than parsing a short text. A batch has at most `MAX_FILES` files and ends after the
file that reaches `MAX_BYTES`, so that a kill or a power failure costs little work.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType

from treebank.base.files import finish_all

MAX_FILES = 256
MAX_BYTES = 1 << 20  # of input in `batches`, of output in `FinishedFiles`

SHARDS_SUFFIX = ".shards"  # of the folder with the outputs of the shards of an incomplete output file


def remove_shards(folder: str, file: str) -> None:
    """Remove the outputs of the shards of a complete ``file``, which may be left from an interrupted job."""
    shutil.rmtree(os.path.join(folder, file + SHARDS_SUFFIX), ignore_errors=True)


def report_finished(folder: str, file: str, tell: Callable[[str], None], line: str) -> None:
    """Remove the shards of a complete ``file``, and call ``tell`` with a ``line`` about it."""
    remove_shards(folder, file)
    tell(line)


def batches(names: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Split ``names`` (input path: output file) into batches of limited size. A pipe or device ends its batch."""
    batch: dict[str, str] = {}
    size = 0
    for path, name in names.items():
        batch[path] = name
        size += os.path.getsize(path) if os.path.isfile(path) else MAX_BYTES
        if len(batch) == MAX_FILES or size >= MAX_BYTES:
            yield batch
            batch, size = {}, 0
    if batch:
        yield batch


class FinishedFiles:
    """Complete files under temporary names, which get their final names batch by batch.

    At the end of the context, the last batch gets its names as well, also after an error.
    """

    def __init__(self) -> None:
        self._targets: dict[str, str] = {}
        self._callbacks: list[Callable[[], None]] = []
        self._bytes = 0

    def add(self, part: str, target: str, then: Callable[[], None]) -> None:
        """Add the file ``part``, to be renamed to ``target``, and call ``then`` when this is on the disk."""
        self._targets[part] = target
        self._callbacks.append(then)
        self._bytes += os.path.getsize(part)
        if len(self._targets) == MAX_FILES or self._bytes >= MAX_BYTES:
            self._finish()

    def _finish(self) -> None:
        targets, callbacks = self._targets, self._callbacks
        self._targets, self._callbacks, self._bytes = {}, [], 0
        finish_all(targets)
        for then in callbacks:
            then()

    def __enter__(self) -> FinishedFiles:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._finish()
