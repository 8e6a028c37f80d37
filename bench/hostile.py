"""Check that ``synparse parse`` keeps the number and the words of hostile lines, in constant memory.

    python bench/hostile.py [--lines 10000000] [--seed 1] [--run RUN]

Special tokens, brackets, escape sequences, characters of all planes, white space and bytes that are not UTF-8 are
piped into the command, and its output is compared while it runs. Without RUN, a tiny model is trained first. Prints the
number of lines in and out, the memory during the run, seconds, and the SHA-256 of input and output; writes
``bench/results/hostile.json``. Exits with 1 if a line is lost or has other words.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench import toys  # noqa: E402
from bench.machine import describe  # noqa: E402

MARKS = (
    *("<eos>", "<unk>", "<pad>", "<mask>", "</s>", "-LRB-", "-RRB-", "(", ")", "((", "()", "(X", "a(b)c", "-NONE-"),
    *("*T*-1", "0", "#", "##", "%%", "{", "}", '{"words":["a"]}', '"', "'", "\\", "\\n", "_", "|", "1-2", "1.1"),
    *("\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x9b2J", "\x08", "\x7f", "\x85", "\u2028", "\u2029", "\u00a0"),
    *("\u3000", "\u200b", "\u200d", "\u202e", "\u2066", "\x0b", "\x0c", "\x1c", "\x1f", "a\rb", "\ufffd", "\uffff"),
    *("\U0010ffff", "\ue000", "e\u0301\u0302" * 20, "👨‍👩‍👧‍👦", "ﷺ", "İ", "ß", "ﬁ", "١٢٣", "½", "%s", "{0}", "$(id)"),
    *("../..", "--help", "NaN", "1e999", "x" * 300, "the", "dog", "saw", "a", "cat", ".", ",", "The", "12"),
)
PLANES = ((1, 33), (33, 127), (128, 0x250), (0x300, 0x2100), (0x3000, 0xD800), (0xE000, 0xFDD0), (0x10000, 0x110000))
LENGTHS = (0, 1, 1, 2, 2, 3, 4, 6, 9)  # in words
NO_TEXT = (b"\xff", b"a \xc3 b", b"\xed\xa0\x80", b"a\x00b")
TOGETHER = 1000  # lines per block
LEAF = re.compile(r"\(W ([^ ()]+)\)")
Words = list[str]


def words(draw: random.Random, count: int = 5_000) -> Words:
    """Words to draw the lines from."""
    pool = [*MARKS] * 10
    while len(pool) < count:
        low, high = draw.choice(PLANES)
        word = "".join(chr(draw.randrange(low, high)) for _ in range(draw.randint(1, 6)))
        pool.append(re.sub(r"[\n\r\t \0\ufeff]", "", word) or "x")
    return pool


def blocks(count: int, seed: int) -> Iterator[tuple[bytes, list[Words]]]:
    """Blocks of lines, and the words of each line (none for invalid text)."""
    draw = random.Random(seed)
    pool = words(draw)
    for start in range(0, count, TOGETHER):
        lines, expected = [], []
        for _ in range(min(TOGETHER, count - start)):
            chosen = draw.choices(pool, k=draw.choice(LENGTHS))
            blank = draw.choice((" ", " ", "\t", "  "))
            line = blank.join(chosen).encode("utf-8")
            if draw.random() < 0.001:
                line, chosen = draw.choice(NO_TEXT), []
            lines.append(line + b"\n")
            expected.append([word.replace("(", "-LRB-").replace(")", "-RRB-") for word in chosen])
        yield b"".join(lines), expected


def memory(process: int) -> float:
    """Current resident memory of a process, in MB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def measure(run: str, count: int, seed: int) -> dict[str, Any]:
    """Figures of parsing ``count`` lines."""
    command = [sys.executable, "-m", "synparse", "parse", "-m", run, "--input-format", "text", "--on-error", "blank"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parent)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    began = time.monotonic()
    process = subprocess.Popen(command, env=environment, **pipes)  # type: ignore[call-overload]
    expected: SimpleQueue[list[Words]] = SimpleQueue()
    input_hash, output_hash = sha256(), sha256()

    def write() -> None:
        with process.stdin as stream:
            for data, block_words in blocks(count, seed):
                expected.put(block_words)
                input_hash.update(data)
                stream.write(data)

    writer = Thread(target=write)
    writer.start()
    out, other, on_the_way = 0, 0, []
    block_words: Iterator[Words] = iter(())
    every = max(1, count // 10)
    for line in process.stdout:
        output_hash.update(line)
        leaves = LEAF.findall(line.decode("utf-8"))
        if (sentence_words := next(block_words, None)) is None:
            block_words = iter(expected.get())
            sentence_words = next(block_words)
        other += leaves != sentence_words
        out += 1
        if out % every == 0:
            on_the_way.append(round(memory(process.pid), 1))
            seconds = time.monotonic() - began
            print(f"{out:,} lines, {on_the_way[-1]:.0f} MB, {seconds:.0f} s", flush=True)
    writer.join()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "seed": seed,
        "lines in": count,
        "lines out": out,
        "lines with other words": other,
        "exit code": process.returncode,
        "peak MB": round(used.ru_maxrss / 1024, 1),
        "MB on the way": on_the_way,
        "seconds": round(time.monotonic() - began, 1),
        "seconds of the processor": round(used.ru_utime + used.ru_stime, 1),
        "sha256 in": input_hash.hexdigest(),
        "sha256 out": output_hash.hexdigest(),
    }


def tiny_model(folder: Path) -> str:
    """Train a model on toy sentences, and return its folder."""
    toys.write(folder, 60)
    command = [sys.executable, "-m", "synparse", *toys.training("onlstm", resume=False)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parent)}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return str(folder / "run")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(options.run or tiny_model(Path(folder)), options.lines, options.seed)
    for name, value in figures.items():
        print(f"{name}: {value}")
    result = HERE / "results" / "hostile.json"
    result.parent.mkdir(exist_ok=True)
    result.write_text(json.dumps({"machine": describe(), **figures}, indent=1), encoding="utf-8")
    if figures["exit code"] or figures["lines with other words"] or figures["lines out"] != figures["lines in"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
