"""Files in the working folder of a test."""

from __future__ import annotations

import hashlib
from pathlib import Path


def write(name: str, content: str | bytes) -> str:
    """Write a file ``name`` with this content and return its name."""
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def contents(folder: Path) -> dict[str, str]:
    """Digests of all files below ``folder``."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
