"""``python -m bench.sample``: generate the built-in corpus and write its data files."""

from __future__ import annotations

import lzma
from pathlib import Path

import treebank.corpora.sample as sample
from bench.sample import generate


def main() -> None:
    """Write one compressed file per part, with one line ``tree <tab> heads`` per sentence."""
    for part in sample.SIZES:
        lines = (f"{sentence.tree}\t{' '.join(map(str, sentence.heads))}\n" for sentence in generate(part))
        data = lzma.compress("".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME)
        path = Path(sample.__file__).parent / f"{part}.xz"
        path.write_bytes(data)
        print(f"{path}: {len(data):,} bytes")


if __name__ == "__main__":
    main()
