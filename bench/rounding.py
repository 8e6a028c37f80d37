"""Share of sentences with the same parse when the factors of products are rounded to bfloat16.

``python bench/rounding.py RUN… --text TEXT [--sentences 1500]``. It shows why synparse does not round when it
parses.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import torch  # noqa: E402

from induce.parsing.load import load_parser  # noqa: E402
from induce.parsing.model_parser import ModelParser  # noqa: E402
from treebank.core.sentence import Sentence  # noqa: E402


def parsed(parser: ModelParser, text: list[Sentence]) -> Iterator[str]:
    """Tree or heads of each sentence, as a string."""
    return map(str, parser.parse(text) if parser.output == "trees" else parser.parse_heads(text))


def main() -> None:
    """Parse with and without rounding, and print the share of equal parses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--text", required=True)
    parser.add_argument("--sentences", type=int, default=1500)
    options = parser.parse_args()
    lines = Path(options.text).read_text(encoding="utf-8").splitlines()
    text = [Sentence(tuple(line.split())) for line in lines if line.split()][: options.sentences]
    for run in options.runs:
        model = load_parser(run, device="cpu")
        exact = list(parsed(model, text))
        ask = model.ask

        def rounded(batch, ask=ask):  # type: ignore[no-untyped-def]
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return ask(batch)

        model.ask = rounded  # type: ignore[method-assign]
        same = sum(before == after for before, after in zip(exact, parsed(model, text), strict=True))
        print(f"{run}: {100 * same / len(text):.2f} % of {len(text)} sentences the same")


if __name__ == "__main__":
    main()
