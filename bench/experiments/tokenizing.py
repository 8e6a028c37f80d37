"""F1 of words and sentences of every tokenization rule against treebanks of Universal Dependencies.

``python -m bench.experiments.tokenizing [FOLDER] [--rules unicode,english]`` searches FOLDER for ``.conllu`` files. The
raw text is rebuilt from their tokens and ``SpaceAfter``, paragraphs from ``# newpar`` and ``# newdoc``. ``tokens``
counts a range (``don't``) as one token, ``words`` counts its parts if they spell it. A rule whose package is missing is
left out.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from bench.common import DATA
from bench.report import markdown
from tests.support.segmentation import agreement, raw_gold, segmentation_spans
from treebank.base.errors import SynparseError
from treebank.io.conllu import read_conllu
from treebank.tokenize import TOKENIZATIONS, Tokenization, tokenization

FOR_LANGUAGE = {
    "en": ["english"],
    "fr": ["french"],
    "it": ["italian"],
    "mt": ["maltese"],
    "zh": ["characters", "icu", "jieba"],
    "ja": ["characters", "icu", "janome"],
}
HEADER = ["treebank", "rule", "tokens", "words", "sentences", "kB/s"]


def rules_of(path: Path, rules: str | None) -> list[str]:
    """Requested rules, or else the default and the rules for the language of the treebank."""
    return rules.split(",") if rules else ["unicode", *FOR_LANGUAGE.get(path.name[:2], [])]


def row(path: Path, cut: Tokenization) -> list[str]:
    """Row of the table: names, F1 in percent, and kB per second on one core."""
    gold = raw_gold(
        sentence.annotation for sentence in read_conllu(str(path), keep_annotation=True) if sentence.annotation
    )
    began = time.process_time()
    sentences = [surface for text in gold.paragraphs for surface in cut.surfaces(text)]
    seconds = time.process_time() - began
    words, spans = segmentation_spans(
        [surface.text[start:end] for start, end in surface.spans] for surface in sentences
    )
    scores = [agreement(*pair).f1 for pair in ((gold.tokens, words), (gold.words, words), (gold.sentences, spans))]
    size = sum(len(text.encode()) for text in gold.paragraphs)
    name = path.name.removesuffix(".gz").removesuffix(".conllu")
    return [name, cut.name, *(f"{score:.2f}" for score in scores), f"{size / seconds / 1000:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=DATA / "ud")
    parser.add_argument("--rules", help=f"of {', '.join(TOKENIZATIONS)}; by default those for the language")
    arguments = parser.parse_args()
    rows = []
    for path in sorted(arguments.folder.rglob("*.conllu*")):
        for rule in rules_of(path, arguments.rules):
            try:
                cut = tokenization(rule)
            except SynparseError as error:
                print(f"note: {error}", file=sys.stderr)
                continue
            rows.append(row(path, cut))
    print(markdown(HEADER, rows))


if __name__ == "__main__":
    main()
