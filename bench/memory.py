"""Memory of a large corpus, and the time of reading it, relative to ``wc -w``.

``python bench/memory.py [MILLIONS]`` makes the text with the built-in sampler (10 million words by default), prints a
table and writes ``bench/results/memory.json``. The memory is the growth of the process while the text is read and
turned into the numbers of a vocabulary, at its peak.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from induce.data.corpus import read_corpora  # noqa: E402
from treebank.corpora.sample import sample_treebank  # noqa: E402
from treebank.io.read import read_sentences  # noqa: E402


def peak() -> float:
    """Peak memory of this process in bytes. Without /proc, this includes the peak of its parent."""
    status = Path("/proc/self/status")
    match = (
        re.search(r"^VmHWM:\s*(\d+) kB", status.read_text(encoding="utf-8"), re.MULTILINE) if status.exists() else None
    )
    return 1024.0 * (int(match[1]) if match else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def write_text(path: Path, words: int) -> int:
    """Write the sentences of the sample repeatedly until there are ``words`` words, and return their number."""
    lines = [" ".join(sentence.words) for sentence in sample_treebank("train").sentences]
    count = sum(line.count(" ") + 1 for line in lines)
    times = -(-words // count)
    text = "\n".join(lines) + "\n"
    with path.open("w", encoding="utf-8") as stream:
        for _ in range(times):
            stream.write(text)
    return times * count


def main() -> None:
    """Print and write the table."""
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    with TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        words = write_text(path, int(millions * 1e6))
        began = time.monotonic()
        subprocess.run(["wc", "-w", path], check=True, capture_output=True)
        counting = time.monotonic() - began
        before, began = peak(), time.monotonic()
        corpus, _ = read_corpora(read_sentences([str(path)]), "words")
        encoded = corpus.encode(corpus.vocabulary(10_000, 2))
        reading, held = time.monotonic() - began, peak() - before
    learned_words = len(encoded.ids) - len(encoded)
    figures = {
        "words": float(words),
        "bytes a word, at the peak": held / words,
        "bytes a word that is learned from": held / learned_words,
        "words a second": words / reading,
        "time of wc -w": counting / reading,
    }
    for name, value in figures.items():
        print(f"{name:36s} {value:14,.3f}")
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    (results / "memory.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
