"""Small files for tests."""

from __future__ import annotations

from pathlib import Path


def write(folder: Path, text: str, name: str = "trees.mrg") -> str:
    """Write a file in UTF-8 with unchanged line ends and return its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return str(path)
