"""Which rule reads trees best off distances, language by language? Models of small treebanks under every decoder.

    python bench/decoders.py --data FOLDER [--words 30000] [--seen 400000] [--seeds 1] [--only japanese]

Takes the sentences of up to 40 words of each treebank until there are ``--words`` words, trains ON-LSTM on their words
alone, and scores its trees under each decoder of distances, beside the baselines, by the convention on-lstm. Treebanks
that are not there are left out, with a word. Prints a line for each model and writes ``bench/results/decoders.json``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import synparse  # noqa: E402
from treebank.formats import InputOptions, read_sentences  # noqa: E402
from treebank.sentence import Treebank  # noqa: E402

#: language -> where its treebank is, below the data folder
TREEBANKS = {
    "japanese": "const_other/keyaki",
    "spanish": "nltk_data/corpora/cess_esp.zip",  # ISO-8859-15
    "chinese": "nltk_data/corpora/sinica_treebank.zip",
    "icelandic": "const_other/icepahc",
    "english": "nltk_data/corpora/treebank.zip",
}
DECODERS = ("biased", "unbiased")
BASELINES = ("left", "right", "random", "balanced")
LONGEST = 40  # words
SETTINGS = ("model.embedding_size=64", "model.hidden_size=128", "model.layers=2", "data.minimum_count=2")


def gold_of(path: Path, words: int) -> Treebank:
    """The first sentences of a treebank, as many as there are ``words`` for."""
    with tempfile.TemporaryDirectory() as folder:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                archive.extractall(folder)
        source = folder if path.suffix == ".zip" else str(path)
        options = InputOptions(encoding="iso-8859-15" if path.stem == "cess_esp" else "", tell=lambda line: None)
        kept, count = [], 0
        for sentence in read_sentences([source], input_options=options, on_bad=lambda error: None):
            if 2 < len(sentence.words) <= LONGEST and count < words:
                kept.append(sentence)
                count += len(sentence.words)
    return Treebank(path.name, kept)


def measure(language: str, path: Path, seed: int, words: int, seen: int) -> dict[str, Any]:
    """Scores of one model by each decoder, and of the baselines, in percent."""
    gold = gold_of(path, words)
    texts = [list(sentence.words) for sentence in gold.sentences]
    epochs = max(1, round(seen / sum(map(len, texts))))
    with tempfile.TemporaryDirectory() as folder:
        settings = [*SETTINGS, f"train.epochs={epochs}"]
        synparse.train(texts, run=f"{folder}/run", settings=settings, seed=seed)
        parsers = [synparse.load(f"{folder}/run", decoder=name) for name in DECODERS]
        found = synparse.evaluate(gold, *parsers, *BASELINES)
    scores = [report for report in found.reports if report.metric == "UF1"]
    values = dict(zip((*DECODERS, *BASELINES), (report.value for report in scores), strict=True))
    depth = {name: report.right_left for name, report in zip(DECODERS, scores, strict=False)}
    return {"language": language, "seed": seed, "sentences": len(texts), "uf1": values, "right_left": depth}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--words", type=int, default=30_000)
    parser.add_argument("--seen", type=int, default=400_000, help="words of all passes together")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", action="append", choices=TREEBANKS)
    given = parser.parse_args()
    result = HERE / "results" / "decoders.json"
    result.parent.mkdir(exist_ok=True)
    rows: list[dict[str, Any]] = []
    for language in given.only or TREEBANKS:
        if not (given.data / TREEBANKS[language]).exists():
            print(f"{language}: {given.data / TREEBANKS[language]} is not there")
            continue
        for seed in range(1, given.seeds + 1):
            rows.append(measure(language, given.data / TREEBANKS[language], seed, given.words, given.seen))
            uf1 = "  ".join(f"{name} {value:.1f}" for name, value in rows[-1]["uf1"].items())
            print(f"{language} {rows[-1]['sentences']} sentences, seed {seed}: {uf1}", flush=True)
            result.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    for name in DECODERS if rows else ():
        print(f"mean {name}: {statistics.fmean(row['uf1'][name] for row in rows):.1f}")


if __name__ == "__main__":
    main()
