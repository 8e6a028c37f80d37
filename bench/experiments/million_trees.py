"""Time and memory of search, counting, conversion and pages of a large treebank: docs/results/speed.md.

``python -m bench.experiments.million_trees [--trees N] [--data FOLDER]`` repeats the trees of CRAFT until there are N
(default: 1,000,000). In each repetition, some words are replaced by words with the same tag, and some rare words by new
ones, so that the number of different words and phrases grows. The same sentences with heads are made by ``convert``.
The memory is the largest of the process.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from multiprocessing import Process
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from bench.common import DATA, measured
from treebank.io.read import read_sentences

LEAF = re.compile(r"\(([^() ]+) ([^() ]+)\)")
OPEN_TAGS = frozenset(["NN", "NNS", "NNP", "JJ", "RB", "VB", "VBD", "VBN", "VBG", "VBZ", "VBP", "CD"])
REPLACED, RENAMED, RARE = 0.15, 0.33, 3  # shares of replaced and renamed words, and the largest count of a rare word
COMMANDS = (
    "convert TREES --format conllu",
    "search {NP < DT} TREES --format count",
    "search {NP < (PP << of)} TREES --format count",
    "search {NP < DT} TREES --format jsonl",
    "search {NP < DT} TREES --sample 100 --format text",
    "search protein TREES --format concordance",
    "search {{tag=VBP} >dep {form=cells}} HEADS --format count",
    "search {{tag=NN; direction=right; distance>=3}} HEADS --format csv",
    "phrases TREES --limit 100",
    "phrases TREES --max-length 4 --format csv",
    "phrases TREES --format csv",
    "phrases HALF --against HALF --max-length 4 --limit 100",
    "phrases HEADS --limit 100",
    "browse TREES --sample 20000 -o PAGE",
)


def varied_trees(data: Path, count: int) -> Iterator[str]:
    """Lines of ``count`` trees: those of CRAFT, and repetitions of them with other words."""
    paths = [data / "craft" / "const" / name for name in ("craft-dev.ptb", "craft-train.ptb.gz")]
    trees = [str(sentence.tree.without_traces()) for sentence in read_sentences(paths) if sentence.tree]
    leaves = [leaf for tree in trees for leaf in LEAF.findall(tree)]
    counts, by_tag = Counter(word for _, word in leaves), dict[str, list[str]]()
    for tag, word in leaves:
        by_tag.setdefault(tag, []).append(word)
    random = Random(1)

    def replaced(match: re.Match[str], repetition: int) -> str:
        tag, word = match.groups()
        if repetition and tag in OPEN_TAGS:
            word = random.choice(by_tag[tag]) if random.random() < REPLACED else word
            word = f"{word}{repetition}" if counts[word] <= RARE and random.random() < RENAMED else word
        return f"({tag} {word})"

    for number in range(count):
        repetition, index = divmod(number, len(trees))
        yield LEAF.sub(lambda match, repetition=repetition: replaced(match, repetition), trees[index]) + "\n"


def write_trees(files: dict[str, str], data: Path, count: int) -> None:
    """Write ``count`` trees, and the first half of them."""
    with open(files["TREES"], "w", encoding="utf-8") as trees, open(files["HALF"], "w", encoding="utf-8") as half:
        for number, line in enumerate(varied_trees(data, count)):
            trees.write(line)
            half.write(line if 2 * number < count else "")


def arguments_of(command: str, files: dict[str, str]) -> list[str]:
    """The arguments of a command: outer braces quote a pattern, and names in capitals are files."""
    parts = re.findall(r"\{(?:[^{}]|\{[^{}]*\})*\}|\S+", command)
    return [part[1:-1] if part.startswith("{") else files.get(part, part) for part in parts]


def main() -> None:
    """Print the time and memory of each command."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--trees", type=int, default=1_000_000)
    options.add_argument("--data", type=Path, default=DATA)
    options.add_argument("--folder", help="where to make the files, a temporary folder by default")
    arguments = options.parse_args()
    with TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        names = {"TREES": "trees.mrg", "HALF": "half.mrg", "HEADS": "heads.conllu", "PAGE": "page.html"}
        files = {key: str(folder / file) for key, file in names.items()}
        # In another process: the peak memory of a child process is at least that of its parent at its start.
        writing = Process(target=write_trees, args=(files, arguments.data, arguments.trees))
        writing.start()
        writing.join()
        for command in COMMANDS:
            output = Path(files["HEADS"]) if command.startswith("convert") else folder / "output"
            with output.open("w") as stream:
                usage = measured([sys.executable, "-m", "synparse", *arguments_of(command, files)], output=stream)
            print(f"{command:70s} {usage.cpu:8.1f} s {usage.memory:8.0f} MB", flush=True)


if __name__ == "__main__":
    main()
