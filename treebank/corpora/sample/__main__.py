"""``python -m treebank.corpora.sample PART [--trees]``: print the built-in corpus, one sentence per line."""

from __future__ import annotations

import argparse
import os
import sys

from treebank.corpora.sample import SIZES, sample_treebank


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0. Prints one tokenized sentence or one bracketed tree per line."""
    parser = argparse.ArgumentParser(prog="python -m treebank.corpora.sample", description="Print the built-in corpus.")
    parser.add_argument("part", choices=list(SIZES), help="20,000 sentences to train on, 1,000 for each other part")
    parser.add_argument("--trees", action="store_true", help="print bracketed trees instead of words")
    options = parser.parse_args(arguments)
    try:
        for sentence in sample_treebank(options.part).sentences:
            print(sentence.tree if options.trees else " ".join(sentence.words))
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
