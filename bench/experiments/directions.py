"""Constituent trees in many languages by recipe, and evidence for the branching direction: docs/results/direction.md.

``python -m bench.experiments.directions --data FOLDER --out FOLDER [--only CORPUS…] [--recipes RECIPE…] [--seeds N]``
trains each recipe on the words of each corpus, scores it against the gold trees (UF1, convention ``on-lstm``), and
prints two tables: scores with minutes and memory, and the estimate of the direction next to the scores of trivial
trees. The gold brackets of a dependency treebank are the spans of each head with its dependents; sentences with
crossing arcs are left out. Each result is stored in OUT, and the same command continues after an interruption.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from bench.common import experiment, repeated, spread, stored, synparse
from bench.report import markdown
from induce.data.corpus import read_corpora
from induce.decoding.branching_direction import estimate_direction
from treebank.core.dependency import phrase_tree
from treebank.core.sentence import Sentence
from treebank.io.read import InputOptions, read_sentences

MIN_WORDS, MAX_WORDS = 3, 40  # of a scored sentence
TEXT_WORDS, SCORED_WORDS = 40_000, 8_000
TRIVIAL = ("right", "left", "balanced", "oracle")
RECIPES = {
    "best": (),
    "npcfg": ("--preset", "npcfg-right", "--set", "parse.branching=text"),
    "onlstm": ("--preset", "onlstm-small"),
    "segment-edges": ("--preset", "segment-edges-small"),
}


@dataclass(frozen=True)
class Corpus:
    """Treebank in the data folder. The words of ``more`` are added to its training text."""

    path: str
    more: str = ""
    encoding: str = ""


def ud(path: str) -> Corpus:
    """Dependency treebank."""
    return Corpus(f"ud/UD_{path}")


CORPORA = {
    "CRAFT": Corpus("craft/const/craft-dev.ptb"),
    "WSJ": Corpus("nltk_data/corpora/treebank.zip"),
    "GUM": Corpus("gum_gold_const/gum72-gold.ptb", more="gum/const/gum-dev.ptb"),
    "Keyaki": Corpus("const_other/keyaki"),
    "IcePaHC": Corpus("const_other/icepahc"),
    "Sinica": Corpus("nltk_data/corpora/sinica_treebank.zip"),
    "CESS": Corpus("nltk_data/corpora/cess_esp.zip", encoding="iso-8859-15"),
    "Floresta": Corpus("nltk_data/corpora/floresta.zip", encoding="iso-8859-15"),
    "German": ud("German-PUD/de_pud-ud-test.conllu"),
    "Finnish": ud("Finnish-PUD/fi_pud-ud-test.conllu"),
    "Turkish": ud("Turkish-IMST/tr_imst-ud-train.conllu.gz"),
    "Tamil": ud("Tamil-TTB/ta_ttb-ud-train.conllu"),
    "Vietnamese": ud("Vietnamese-VTB/vi_vtb-ud-train.conllu"),
    "Chinese": ud("Chinese-PUD/zh_pud-ud-test.conllu"),
    "Japanese": ud("Japanese-PUD/ja_pud-ud-test.conllu"),
    "English": ud("English-EWT/en_ewt-ud-dev.conllu"),
}


def read_treebank(path: Path, encoding: str) -> list[Sentence]:
    """Sentences of a file, folder or zip archive that have a tree, or arcs that do not cross."""
    with tempfile.TemporaryDirectory() as folder:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                archive.extractall(folder)
        source = folder if path.suffix == ".zip" else str(path)
        options = InputOptions(encoding=encoding, notify=lambda line: None)
        sentences = read_sentences([source], input_options=options, on_bad=lambda error: None)
        trees = [(sentence, sentence.tree or phrase_tree(sentence)) for sentence in sentences]
    return [replace(sentence, tree=tree) for sentence, tree in trees if tree and len(sentence.words) >= MIN_WORDS]


def spread_evenly(sentences: Sequence[Sentence], words: int) -> list[Sentence]:
    """About ``words`` words of sentences, evenly spread over the corpus, or all if there are fewer."""
    step = sum(len(sentence.words) for sentence in sentences) / words
    return list(sentences) if step <= 1 else [sentences[int(k * step)] for k in range(int(len(sentences) / step))]


def write_corpus(
    corpus: Corpus, data: Path, folder: Path, words: int = TEXT_WORDS
) -> tuple[Path, Path, list[Sentence]]:
    """Files with the training text and the gold trees of a corpus, and the sentences of the text without annotation."""
    sentences = read_treebank(data / corpus.path, corpus.encoding)
    more = read_treebank(data / corpus.more, corpus.encoding) if corpus.more else []
    text = [Sentence(sentence.words) for sentence in spread_evenly([*sentences, *more], words)]
    gold = spread_evenly([sentence for sentence in sentences if len(sentence.words) <= MAX_WORDS], SCORED_WORDS)
    paths = folder / "text.txt", folder / "gold.mrg"
    folder.mkdir(parents=True, exist_ok=True)
    paths[0].write_text("".join(" ".join(sentence.words) + "\n" for sentence in text), encoding="utf-8")
    paths[1].write_text("".join(f"{sentence.tree}\n" for sentence in gold), encoding="utf-8")
    return *paths, text


def uf1(gold: Path, *options: str) -> dict[str, float]:
    """UF1 of each system."""
    call = ["eval", "--gold", str(gold), "--convention", "on-lstm", "--format", "json", *options]
    return {score["system"]: score["value"] for score in json.loads(synparse(call)[0])["scores"]}


def uf1_of(gold: Path, run: object) -> float:
    """UF1 of a run."""
    return next(iter(uf1(gold, "-m", str(run)).values()))


def corpus_experiment(text: str | None, out: str) -> argparse.ArgumentParser:
    """Parser of the options of an experiment on the corpora ``--only``."""
    parser = experiment(text, out)
    parser.add_argument("--only", nargs="+", default=list(CORPORA), choices=CORPORA)
    return parser


def trivial(text: Sequence[Sentence], gold: Path) -> dict[str, Any]:
    """Estimate of the direction, and UF1 of trivial trees."""
    direction = estimate_direction(read_corpora(text, "words")[0])
    return {"direction": vars(direction), "trivial": uf1(gold, *repeated("--baseline", TRIVIAL))}


def train(recipe: str, seed: int, minutes: float, text: Path, gold: Path, run: Path) -> dict[str, float]:
    """UF1, CPU minutes, and the peak memory in MB of all trainings so far. The recipe ``best`` has all cores."""
    begin = ["--resume"] if run.exists() else [str(text), "--seed", str(seed), *RECIPES[recipe]]
    call = ["train", *begin, "--max-minutes", f"{minutes:g}", "-o", str(run)]
    _, seconds = synparse(call, all_cores=recipe == "best")
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {"UF1": uf1_of(gold, run), "minutes": seconds / 60, "memory": memory}


def main() -> None:
    """Measure what is missing, and print the tables of the scores by recipe and of the estimates."""
    parser = corpus_experiment(__doc__, "directions")
    parser.add_argument("--recipes", nargs="*", default=["best"], choices=RECIPES)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=8.0, help="wall-clock minutes of each training")
    options = parser.parse_args()
    scores, estimates = [], []
    for name in options.only:
        folder = options.out / name
        text, gold, sentences = write_corpus(CORPORA[name], options.data, folder)
        facts = stored(folder / "trivial.json", partial(trivial, sentences, gold))
        runs: dict[str, list[dict[str, float]]] = {recipe: [] for recipe in options.recipes}
        for recipe, seed in product(options.recipes, range(1, options.seeds + 1)):
            run = folder / f"{recipe}-{seed}"
            result = stored(run.with_suffix(".json"), partial(train, recipe, seed, options.minutes, text, gold, run))
            runs[recipe].append(result)
            print(f"{name} {recipe} {seed}: {result}", file=sys.stderr, flush=True)
        flat = [run for part in runs.values() for run in part]
        memory = max((run["memory"] for run in flat), default=0.0)
        cells = [spread([run["UF1"] for run in part]) for part in runs.values()]
        baselines = [f"{value:.1f}" for value in facts["trivial"].values()]
        scores.append([name, *cells, *baselines, spread([run["minutes"] for run in flat]), f"{memory:.0f}"])
        estimates.append([name, *(f"{value:.2f}" for value in facts["direction"].values()), *baselines[:2]])
    print(markdown(["UF1", *options.recipes, *TRIVIAL, "minutes", "MB"], scores), end="\n\n")
    print(markdown(["evidence", "d", "c", "g", "p(right)", "sentences", "right", "left"], estimates))


if __name__ == "__main__":
    main()
