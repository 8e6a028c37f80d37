"""Train the built-in models of English: texts in, two model files out.

``python -m bench.experiments.builtin`` writes a general English text from those texts in the data folder whose license
permits it: sentences of the English Web Treebank, Wikipedia articles of WikiText-2, and every second sentence of the
training part of CRAFT. Plain ``train`` learns from it, and from all of CRAFT. The third grammars of both vote, and a
chart parser learns the trees of the vote. Its confidences are calibrated as those of plain ``train``. The recipe
``heads`` trains three dependency grammars. They and the chart parser (weight 1.5) vote, and a biaffine parser learns
the heads of this vote. Both students are written in half precision to ``FOLDER/english.safetensors`` and
``FOLDER/english-heads.safetensors``, the files of ``induce/storage/builtin``. A second call resumes where the first one
stopped. ``--gold`` scores both.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace

from bench.common import experiment, synparse
from induce.parsing.load import load_parser
from induce.recipes.result import calibrated
from induce.storage.checkpoint import find, pack, read, save
from treebank.core.sentence import Sentence
from treebank.tokenize import tokenization

TEXT, ARTICLES = "english.txt", "craft_train.txt.gz"
GENERAL, BIOMEDICAL, TEACHER, TREES = "general", "biomedical", "vote-of-grammars", "english"
CALIBRATION_SENTENCES = 2_000  # whose phrases give the confidences of the model of trees
PRIORS = "segment-edges:0.25+branching:0.1+punctuation:0.1+brackets:1+joining-marks:1"  # the strength for much text
DEPENDENCIES, HEAD_TEACHER, HEADS = "dependencies", "vote-of-dependency-grammars", "english-heads"
MIN_WORDS, MAX_WORDS = 2, 60  # of a sentence
MAX_UNKNOWN = 2  # words of a sentence that WikiText-2 replaced
UNKNOWN, MARKED = "<unk>", "Unkxx"  # the tokenizer splits the first
BEFORE, AFTER = re.compile(r" (?=[,.;:!?)]|'s\b)"), re.compile(r"(?<=\() ")


def split(paragraph: str) -> Iterator[list[str]]:
    """Words of each sentence of a paragraph of raw text."""
    for surface in tokenization("english").surfaces(paragraph):
        yield [surface.text[start:end] for start, end in surface.spans]


def wikipedia(path: Path) -> Iterator[list[str]]:
    """Sentences of WikiText-2 whose words are those of the original articles, except rare ones."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith(" ="):
            joined = re.sub(r" @([-,.])@ ", r"\1", line.strip()).replace(UNKNOWN, MARKED)
            for words in split(AFTER.sub("", BEFORE.sub("", joined))):
                if sum(word.count(MARKED) for word in words) <= MAX_UNKNOWN:
                    yield [word.replace(MARKED, UNKNOWN) for word in words]


def general_english(folder: Path) -> list[str]:
    """Sentences of the three corpora in the folder of raw texts, one per line, in random order."""
    web = (folder / "en_ewt_train.txt").read_text(encoding="utf-8").splitlines()
    articles = gzip.decompress((folder / ARTICLES).read_bytes()).decode().splitlines()
    sentences = [words for line in web for words in split(line.strip())]
    sentences += wikipedia(folder / "wikitext2" / "valid.txt")
    sentences += [line.split() for line in articles[::2]]
    lines = [" ".join(words) + "\n" for words in sentences if MIN_WORDS <= len(words) <= MAX_WORDS]
    Random(1).shuffle(lines)
    return lines


def run(name: str, *options: str) -> None:
    """Train to the end, or resume. What is finished stays as it is."""
    kind = [option for option in options if option == "--heads"]
    begun = Path(name).exists()
    synparse(["train", *((*kind, "--resume") if begun else options), "-o", name], all_cores=True)


def confidence(run: str, edges: str, text: str) -> tuple[tuple[float, float], ...]:
    """The calibrated confidences of the model in ``run`` by the model ``segment-edges`` in ``edges``."""
    lines = Path(text).read_text(encoding="utf-8").splitlines()
    sentences = [Sentence(tuple(line.split())) for line in lines[:: len(lines) // CALIBRATION_SENTENCES]]
    return calibrated(load_parser(run), load_parser(edges), sentences)


def write_half(run: str | Path, target: str, points: tuple[tuple[float, float], ...] = ()) -> None:
    """Write the best model of ``run`` with weights in half precision, for a file of about half the size.

    ``points`` are its confidences. Raises ValueError for a number that is too large for that.
    """
    checkpoint = read(find(Path(run)))
    weights = checkpoint.weights()
    for name, value in weights.items():
        weights[name] = value = value.half() if value.is_floating_point() else value
        if not value.isfinite().all():
            raise ValueError(f"{run}: {name} contains numbers that are too large for half precision")
    model = SimpleNamespace(state_dict=lambda: weights)
    facts = replace(checkpoint.facts, confidence=points)
    save(Path(target), pack(model, checkpoint.config, checkpoint.vocabulary, facts))


def main() -> None:
    """Train and write the models, and score them on the gold treebanks, if any."""
    parser = experiment(__doc__, "builtin")
    parser.add_argument("--gold", nargs="*", default=[], help="treebanks: files, or names such as wsj10")
    options = parser.parse_args()
    data = options.data.resolve() / "raw"
    golds = [os.path.abspath(gold) if os.path.exists(gold) else gold for gold in options.gold]
    options.out.mkdir(parents=True, exist_ok=True)
    os.chdir(options.out)  # so that the models store the name of the text and not its path
    Path(TEXT).write_text("".join(general_english(data)), encoding="utf-8")
    run(GENERAL, TEXT, "--max-minutes", "45")
    run(BIOMEDICAL, str(data / ARTICLES))
    jobs = (GENERAL, BIOMEDICAL)
    third = [f"{job}/parts/third-{number}@priors={PRIORS}" for job in jobs for number in (1, 2)]
    synparse(["combine", *third, "--priors", "initial-spans:1", "-o", TEACHER, "--overwrite"])
    small = ("--set", "data.minimum_count=4", "--set", "train.epochs=7")  # less than 4 MB
    run(TREES, TEXT, "--preset", "chart-small", "--teacher", TEACHER, *small)
    run(DEPENDENCIES, TEXT, "--heads", "--max-minutes", "12")
    members = [f"{DEPENDENCIES}/parts/{part}-1" for part in ("medium", "fine", "coarse")]
    synparse(["combine", *members, f"{TREES}@weight=1.5", "--heads", "-o", HEAD_TEACHER, "--overwrite"])
    content = ("--set", "parse.head_style=content")
    run(HEADS, TEXT, "--preset", "biaffine-small", "--teacher", HEAD_TEACHER, *content, "--max-minutes", "9")
    for name in (TREES, HEADS):
        file = f"{name}.safetensors"
        write_half(name, file, confidence(TREES, f"{GENERAL}/parts/segment-edges-1", TEXT) if name == TREES else ())
        print(f"{Path(file).stat().st_size:,} bytes")
        for gold in golds:
            print(synparse(["eval", "--gold", gold, "-m", file])[0])


if __name__ == "__main__":
    main()
