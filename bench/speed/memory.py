"""Memory of a large corpus, and the time of reading it, relative to ``wc -w``.

The memory is the growth of the process while the text is read and turned into the numbers of a vocabulary, at its peak.
"""

from __future__ import annotations

import re
import resource
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from induce.data.corpus import read_corpora
from treebank.corpora.sample import sample_treebank
from treebank.io.read import read_sentences


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


def measure(quick: bool) -> dict[str, float]:
    """Bytes per word and time of ``wc -w`` relative to reading, for one or (unless ``quick``) ten million words."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        words = write_text(path, 1_000_000 if quick else 10_000_000)
        began = time.monotonic()
        subprocess.run(["wc", "-w", path], check=True, capture_output=True)
        counting = time.monotonic() - began
        before, began = peak(), time.monotonic()
        corpus, _ = read_corpora(read_sentences([str(path)]), "words")
        encoded = corpus.encode(corpus.vocabulary(10_000, 2))
        reading, held = time.monotonic() - began, peak() - before
    return {
        "words": float(words),
        "bytes a word, at the peak": held / words,
        "bytes a word that is learned from": held / (len(encoded.ids) - len(encoded)),
        "words a second": words / reading,
        "time of wc -w": counting / reading,
    }
