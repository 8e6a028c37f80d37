"""UF1 of the decoders of distances, by language, for models of small treebanks.

    python bench/decoders.py --data FOLDER [--words 40000] [--seen 250000] [--seeds 1] [--only japanese]
    python bench/decoders.py --data FOLDER --sides

Takes the sentences of up to 40 words of each treebank until there are ``--words`` words, trains ON-LSTM on their words
alone, and scores its trees under each decoder of distances, next to the baselines, by the convention on-lstm. The
decoder that the run chose by itself is reported as ``by-branching``. In a treebank of heads, each word with all its
descendants is a gold bracket; sentences with crossing arcs are left out. A missing treebank is left out with a message.
Prints one line per model and writes ``bench/results/decoders.json``. With ``--sides`` nothing is trained: the frequent
words at the edges of the sentences (`induce.decoding.branching_direction`) are printed as a table, for more texts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import synparse  # noqa: E402
from induce.data.corpus import read_corpora  # noqa: E402
from induce.data.vocabulary_choice import choose_vocabulary  # noqa: E402
from induce.decoding.branching_direction import Edges, edges_of  # noqa: E402
from induce.decoding.phrases import phrases  # noqa: E402
from induce.settings.presets import resolve  # noqa: E402
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
#: more texts, for --sides
TEXTS = {
    "english (CRAFT)": "craft/const/craft-dev.ptb",
    "english (EWT)": "ud/UD_English-EWT/en_ewt-ud-dev.conllu",
    "german": "ud/UD_German-PUD/de_pud-ud-test.conllu",
    "finnish": "ud/UD_Finnish-PUD/fi_pud-ud-test.conllu",
    "vietnamese": "ud/UD_Vietnamese-VTB/vi_vtb-ud-train.conllu",
    "chinese (PUD)": "ud/UD_Chinese-PUD/zh_pud-ud-test.conllu",
    "japanese (PUD)": "ud/UD_Japanese-PUD/ja_pud-ud-test.conllu",
    "tamil": "ud/UD_Tamil-TTB/ta_ttb-ud-train.conllu",
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
        edges = read(Path(folder) / "run" / "best").facts.edges
        parsers = [synparse.load(f"{folder}/run", decoder=name) for name in DECODERS]
        report = synparse.evaluate(Treebank(gold.name, gold.sentences[:SCORED]), *parsers, *BASELINES)
    scores = report.trees
    values = dict(zip((*DECODERS, *BASELINES), (score.value for score in scores), strict=True))
    values["by-branching"] = values[chosen]
    facts = {"edges": str(edges), "chosen": chosen}
    return {"language": language, "seed": seed, "sentences": len(texts), "uf1": values, **facts}


def side(path: Path, words: int) -> tuple[Edges, list[float]]:
    """Statistics of the edges of a text, and UF1 of right and left branching against its trees."""
    gold = gold_of(path, words)
    read_text, _ = read_corpora((replace(sentence, tree=None) for sentence in gold.sentences), "words")
    edges = edges_of(read_text.encode(choose_vocabulary(read_text, resolve().data)))
    scores = synparse.evaluate(Treebank(gold.name, gold.sentences[:SCORED]), "right", "left").trees
    return edges, [score.value for score in scores]


def print_sides(data: Path, words: int) -> None:
    """Print a row of the table in docs/results/direction.md for each text, sorted by the edges of its sentences."""
    rows = []
    for language, path in {**TREEBANKS, **TEXTS}.items():
        if (data / path).exists():
            edges, scores = side(data / path, words)
            numbers = [
                f"{edges.first:.1f}",
                f"{edges.last:.1f}",
                f"`{'biased' if edges.branching.branches_right else 'unbiased'}`",
                *(f"{score:.1f}" for score in scores),
            ]
            rows.append((edges.last - edges.first, f"| {language} | " + " | ".join(numbers) + " |"))
    print(*(row for _, row in sorted(rows)), sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--words", type=int, default=40_000)
    parser.add_argument("--seen", type=int, default=250_000, help="number of words in all passes together")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", action="append", choices=TREEBANKS)
    parser.add_argument("--sides", action="store_true", help="print the table of the texts, without training")
    options = parser.parse_args()
    if options.sides:
        print_sides(options.data, options.words)
        return
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
            print(f"  {rows[-1]['edges']}", flush=True)
            result.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    for name in (*DECODERS, "by-branching") if rows else ():
        print(f"mean {name}: {statistics.fmean(row['uf1'][name] for row in rows):.1f}")


if __name__ == "__main__":
    main()
