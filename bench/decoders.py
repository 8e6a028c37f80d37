"""UF1 of the decoders of distances, by language, for models of small treebanks.

    python bench/decoders.py --data FOLDER [--words 40000] [--seen 250000] [--seeds 1] [--only japanese]

Takes the sentences of up to 40 words of each treebank until there are ``--words`` words, trains ON-LSTM on their words
alone, and scores its trees under each decoder of distances, next to the baselines, by the convention on-lstm. The
decoder that the run chose by itself is reported as ``by-branching``. In a treebank of heads, each word with all its
descendants is a gold bracket; sentences with crossing arcs are left out. A missing treebank is left out with a message.
Prints one line per model and writes ``bench/results/decoders.json``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import zipfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import synparse  # noqa: E402
from induce.decoding.phrases import phrases  # noqa: E402
from induce.storage.checkpoint import read  # noqa: E402
from treebank.core.sentence import Sentence, Treebank  # noqa: E402
from treebank.core.tree import Tree  # noqa: E402
from treebank.io.read import InputOptions, read_sentences  # noqa: E402

#: language -> path of its treebank in the data folder
TREEBANKS = {
    "japanese": "const_other/keyaki",
    "spanish": "nltk_data/corpora/cess_esp.zip",  # ISO-8859-15
    "chinese": "nltk_data/corpora/sinica_treebank.zip",
    "icelandic": "const_other/icepahc",
    "english": "nltk_data/corpora/treebank.zip",
    "turkish": "ud/UD_Turkish-IMST/tr_imst-ud-train.conllu.gz",
}
DECODERS = ("biased", "unbiased")
BASELINES = ("left", "right", "random", "balanced")
LONGEST = 40  # words
SCORED = 500  # sentences
SETTINGS = ("model.embedding_size=64", "model.hidden_size=128", "model.layers=3", "data.minimum_count=2")


def gold_of(path: Path, words: int) -> Treebank:
    """First sentences of a treebank, until they have ``words`` words."""
    with tempfile.TemporaryDirectory() as folder:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                archive.extractall(folder)
        source = folder if path.suffix == ".zip" else str(path)
        options = InputOptions(encoding="iso-8859-15" if path.stem == "cess_esp" else "", notify=lambda line: None)
        sentences, count = [], 0
        for sentence in read_sentences([source], input_options=options, on_bad=lambda error: None):
            tree = sentence.tree or tree_of_heads(sentence)
            if tree and 2 < len(sentence.words) <= LONGEST and count < words:
                sentences.append(replace(sentence, tree=tree))
                count += len(sentence.words)
    return Treebank(path.name, sentences)


def tree_of_heads(sentence: Sentence) -> Tree | None:
    """Tree with a bracket for each word and its descendants, or None if arcs cross."""
    spans = phrases(sentence.heads)
    if any(a < c < b < d for a, b in spans for c, d in spans):
        return None
    return Tree.from_spans(sentence.words, sorted(set(spans), key=lambda span: (span[0], -span[1])))


def measure(language: str, path: Path, seed: int, words: int, words_seen: int) -> dict[str, Any]:
    """UF1 (percent) of one model by each decoder, and of the baselines."""
    gold = gold_of(path, words)
    texts = [list(sentence.words) for sentence in gold.sentences]
    epochs = max(1, round(words_seen / sum(map(len, texts))))
    with tempfile.TemporaryDirectory() as folder:
        settings = [*SETTINGS, f"train.epochs={epochs}"]
        synparse.train(texts, run=f"{folder}/run", settings=settings, seed=seed)
        chosen = str(synparse.load(f"{folder}/run").decoder)
        direction = read(Path(folder) / "run" / "best").facts.direction
        parsers = [synparse.load(f"{folder}/run", decoder=name) for name in DECODERS]
        report = synparse.evaluate(Treebank(gold.name, gold.sentences[:SCORED]), *parsers, *BASELINES)
    scores = report.trees
    values = dict(zip((*DECODERS, *BASELINES), (score.value for score in scores), strict=True))
    values["by-branching"] = values[chosen]
    facts = {"direction": asdict(direction), "chosen": chosen}
    return {"language": language, "seed": seed, "sentences": len(texts), "uf1": values, **facts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--words", type=int, default=40_000)
    parser.add_argument("--seen", type=int, default=250_000, help="number of words in all passes together")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", action="append", choices=TREEBANKS)
    options = parser.parse_args()
    result = HERE / "results" / "decoders.json"
    result.parent.mkdir(exist_ok=True)
    rows: list[dict[str, Any]] = []
    for language in options.only or TREEBANKS:
        if not (options.data / TREEBANKS[language]).exists():
            print(f"{language}: {options.data / TREEBANKS[language]}: not found, left out")
            continue
        for seed in range(1, options.seeds + 1):
            rows.append(measure(language, options.data / TREEBANKS[language], seed, options.words, options.seen))
            uf1 = "  ".join(f"{name} {value:.1f}" for name, value in rows[-1]["uf1"].items())
            print(f"{language} {rows[-1]['sentences']} sentences, seed {seed}: {uf1}", flush=True)
            print(f"  {rows[-1]['direction']}", flush=True)
            result.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    for name in (*DECODERS, "by-branching") if rows else ():
        print(f"mean {name}: {statistics.fmean(row['uf1'][name] for row in rows):.1f}")


if __name__ == "__main__":
    main()
