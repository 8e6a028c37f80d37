"""Speed, memory and size of the built-in models, spaCy and UDPipe 1: docs/results/speed.md.

``python -m bench.experiments.supervised_parsers --python PYTHON [--data FOLDER] [--out FOLDER]`` trains a spaCy
pipeline (tok2vec and parser) and UDPipe 1 (tagger and parser) on the training part of UD EWT. PYTHON is an interpreter
with the packages ``spacy`` and ``ufal.udpipe``. Then all systems parse the words of the same text, alternately, in one
and in two processes (threads of synparse). Seconds are wall-clock time; those of the first sentence, with the start,
are subtracted. Run it on a quiet machine.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median

from bench.common import ONE_THREAD, Usage, experiment, measured
from bench.report import markdown
from induce.storage.builtin import FILES, HEADS, NAME
from treebank.io.read import read_sentences

ROUNDS, CORES = 3, (1, 2)
SPACY_STEPS, UDPIPE_PASSES = 600, 2  # of a short training, because only speed and size are compared
SPACY = """
import sys, spacy
from spacy.tokens import Doc
model, text, processes = sys.argv[1:]
parser = spacy.load(model)
documents = (Doc(parser.vocab, words=line.split()) for line in open(text, encoding="utf-8"))
for document in parser.pipe(documents, n_process=int(processes)):
    print(*(token.head.i + 1 if token.head is not token else 0 for token in document))
"""
UDPIPE_TRAIN = """
import sys
from ufal.udpipe import InputFormat, ProcessingError, Sentence, Sentences, Trainer
treebank, target, options = sys.argv[1:]
reader, error, sentences = InputFormat.newConlluInputFormat(), ProcessingError(), Sentences()
reader.setText(open(treebank, encoding="utf-8").read())
while reader.nextSentence(sentence := Sentence(), error):
    sentences.push_back(sentence)
model = Trainer.train("morphodita_parsito", sentences, Sentences(), "none", options, options, error)
assert not error.occurred(), error.message
open(target, "wb").write(model)
"""
UDPIPE = """
import sys
from multiprocessing import Pool
from ufal.udpipe import Model, Pipeline, ProcessingError
path, text, processes = sys.argv[1:]
model = Model.load(path)  # the pipeline does not keep it alive
pipeline = Pipeline(model, "horizontal", Pipeline.DEFAULT, Pipeline.DEFAULT, "conllu")
lines = open(text, encoding="utf-8").read().splitlines(keepends=True)
def parse(block):
    return pipeline.process("".join(block), ProcessingError())
blocks = [lines[first : first + 500] for first in range(0, len(lines), 500)]
if processes == "1":
    sys.stdout.writelines(map(parse, blocks))
else:
    with Pool(int(processes)) as pool:
        sys.stdout.writelines(pool.imap(parse, blocks))
"""


@dataclass(frozen=True)
class System:
    """A parser: the command without text and number of processes, the path of its model, and its environment."""

    command: Sequence[str]
    model: Path
    environment: Mapping[str, str]

    def run(self, text: Path, cores: int) -> Usage:
        """Parse ``text`` in ``cores`` processes or threads. Raises SystemExit if the command fails."""
        return measured([part.format(text=text, cores=cores) for part in self.command], environment=self.environment)

    @property
    def size(self) -> float:
        """Size in MB of all files of the model."""
        files = self.model.rglob("*") if self.model.is_dir() else [self.model]
        return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def train_spacy(python: str, treebank: Path, folder: Path) -> Path:
    """Train a parser with spaCy's efficient settings, unless there is one, and return its folder."""
    model = folder / "spacy" / "model-last"
    if not model.exists():
        folder.mkdir(parents=True, exist_ok=True)
        config, documents = folder / "config.cfg", folder / f"{treebank.stem}.spacy"
        paths = [f"--paths.{part}={documents}" for part in ("train", "dev")]
        steps = [f"--training.max_steps={SPACY_STEPS}", f"--training.eval_frequency={SPACY_STEPS}"]
        for arguments in (
            ["convert", str(treebank), str(folder), "--converter", "conllu", "--n-sents", "10"],
            ["init", "config", str(config), "--lang", "en", "--pipeline", "parser", "--optimize", "efficiency"],
            ["train", str(config), "--output", str(folder / "spacy"), *paths, *steps],
        ):
            subprocess.run([python, "-m", "spacy", *arguments], check=True, stdout=sys.stderr)
    return model


def train_udpipe(python: str, treebank: Path, folder: Path) -> Path:
    """Train UDPipe's tagger and parser, unless there is a model, and return its file."""
    model = folder / "udpipe.model"
    if not model.exists():
        folder.mkdir(parents=True, exist_ok=True)
        options = f"iterations={UDPIPE_PASSES}"
        subprocess.run([python, "-c", UDPIPE_TRAIN, str(treebank), str(model), options], check=True, stdout=sys.stderr)
    return model


def systems(python: str, treebank: Path, folder: Path) -> dict[str, System]:
    """The systems of the table by name. spaCy and UDPipe are trained first."""
    synparse = [sys.executable, "-m", "synparse", "parse", "{text}", "--threads", "{cores}", "-m"]
    parsers = {f"`{name}`": System([*synparse, name], FILES[name], {}) for name in (NAME, HEADS)}
    spacy, udpipe = train_spacy(python, treebank, folder), train_udpipe(python, treebank, folder)
    for name, program, model in (("spaCy, parser", SPACY, spacy), ("UDPipe 1, tagger and parser", UDPIPE, udpipe)):
        parsers[name] = System([python, "-c", program, str(model), "{text}", "{cores}"], model, ONE_THREAD)
    return parsers


def main() -> None:
    """Train the other parsers, measure all systems alternately, and print the table."""
    parser = experiment(__doc__, "supervised-parsers")
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    source = options.data / "ud" / "UD_English-EWT" / "en_ewt-ud-train.conllu.gz"
    sentences = list(read_sentences([source]))
    options.out.mkdir(parents=True, exist_ok=True)
    treebank, text, first = (options.out / name for name in ("train.conllu", "text.txt", "first.txt"))
    lines = [" ".join(sentence.words) + "\n" for sentence in sentences]
    text.write_text("".join(lines), encoding="utf-8")
    first.write_text(lines[0], encoding="utf-8")
    treebank.write_bytes(gzip.decompress(source.read_bytes()))
    parsers = systems(options.python, treebank, options.out)
    runs: dict[tuple[str, int, Path], list[Usage]] = {}
    for _, (name, cores, file) in product(range(ROUNDS), product(parsers, CORES, (first, text))):
        runs.setdefault((name, cores, file), []).append(parsers[name].run(file, cores))
    words, rows = sum(len(sentence.words) for sentence in sentences), []
    for name, system in parsers.items():
        seconds = {
            (cores, file): median(run.seconds for run in runs[name, cores, file])
            for cores, file in product(CORES, (first, text))
        }
        rates = [f"{words / (seconds[cores, text] - seconds[cores, first]):,.0f}" for cores in CORES]
        memory = median(run.memory for run in runs[name, 1, text])
        rows.append([name, *rates, f"{seconds[1, first]:.1f} s", f"{memory:.0f} MB", f"{system.size:.1f} MB"])
    print(markdown(["words per second", "one core", "two cores", "first sentence", "memory", "model"], rows))


if __name__ == "__main__":
    main()
