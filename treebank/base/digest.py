"""SHA-256 digests of bytes, files and JSON values, in hexadecimal."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, Any

from treebank.base.errors import placed

BLOCK_BYTES = 1 << 20  # that are read at a time


@dataclass(frozen=True)
class FileFacts:
    """Size and digest of a file."""

    bytes: int
    sha256: str


def describe(data: bytes) -> FileFacts:
    """Size and digest of the content of a file."""
    return FileFacts(len(data), digest_bytes(data))


def describe_file(path: str | os.PathLike[str]) -> FileFacts:
    """Size and digest of a file."""
    return FileFacts(os.path.getsize(path), digest_file(path))


def digest_bytes(data: bytes) -> str:
    """The digest of ``data``."""
    return hashlib.sha256(data).hexdigest()


def digest_file(path: str | os.PathLike[str]) -> str:
    """The digest of the content of a file."""
    return digest_files([path])


def digest_files(paths: Iterable[str | os.PathLike[str]]) -> str:
    """The digest of the contents of several files, one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with placed(path), open(path, "rb") as stream:
            while block := stream.read(BLOCK_BYTES):
                digest.update(block)
    return digest.hexdigest()


def copy_with_digest(source: IO[bytes], target: IO[bytes]) -> str:
    """Copy a stream from its position to its end, and return the digest of these bytes."""
    digest = hashlib.sha256()
    while block := source.read(BLOCK_BYTES):
        digest.update(block)
        target.write(block)
    return digest.hexdigest()


def digest_json(value: Any) -> str:
    """The digest of a JSON value, whatever the order of its keys and its white space."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return digest_bytes(text.encode("ascii"))
