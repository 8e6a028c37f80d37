"""The papers' smaller tables and figures, measured on free data, for docs/results.

``python -m bench.experiments.tables [--minutes 2] [--only TABLE…]`` trains series of small models, each for the given
CPU minutes, and scores them: UDGN by mask rate (thesis, figure 12) and without its parts (table 9); ON-LSTM with
supervised distances and its variants (Du et al. 2020, table 4); models of
`bench.experiments.free_text` by the relations of their channels (table 8), on minimal pairs, and on the similarity of
sentences, also fine-tuned for a quarter of the time; ON-LSTM's sharpness next to its UF1 over seeds; Ordered Memory's
accuracy by the number of expressions (figure 7b); and the models that learn trees from the answers of ListOps and
logic. Existing results are not computed again.

Three tables train by epochs: ON-LSTM and PRPN with and without supervised distances on nltk's sample of the Wall Street
Journal (``wsj``), the encoders with given trees on the published pairs of logic (``given-trees``, table 5), and
Option-Controller Networks during imitation (``imitation``, figure 19). Each call trains unfinished runs for at most the
given minutes more, and prints the scores so far; with ``--minutes 0`` it only prints them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple, Self

from bench.common import experiment, read_json, repeated, spread, stop_after, stored, synparse, write_json
from bench.experiments.free_text import free_text
from bench.report import markdown, processor, with_interval
from induce.reporting.runs import read_log
from induce.storage.model_file import RESUME
from induce.storage.outputs import LOG
from treebank.base.files import write_whole

EWT_GOLD = "ud/UD_English-EWT/en_ewt-ud-dev.conllu"
CRAFT, CRAFT_GOLD = "raw/craft_train.txt.gz", "craft/const/craft-dev.ptb"
SAMPLE = "sample"  # the built-in text and its trees, simple enough for minutes
MASKED = ("0.1", "0.3", "0.5", "0.7", "0.9")
ABLATIONS = {  # of table 9
    "none": (),
    "no nonlinearity": ("model.activation=identity",),
    "no gates": ("model.gates=false",),
    "no competition (sigmoid)": ("model.competition=sigmoid",),
    "one channel": ("model.channels=1", "model.channel_size=256"),
    "positions instead of direction": ("model.positions=embedding",),
}
SUPERVISED = {  # of Du et al. 2020, table 4: preset and changed settings
    "layer 1": ("onlstm-syd-small", ("model.supervised_layer=1",)),
    "layer 2": ("onlstm-syd-small", ("model.supervised_layer=2",)),
    "layer 3": ("onlstm-syd-small", ()),
    "no trees": ("onlstm-small", ()),
    "random trees": ("onlstm-syd-small", ("data.trees=random",)),
    "hidden states": ("onlstm-syd-small", ("model.supervised_head=hidden",)),
    "one set of trees": ("onlstm-syd-small", ("model.supervised_head=shared",)),
}
SEEDS, MANY_SEEDS = ("1", "2", "3"), tuple("123456")
EXPRESSIONS = ("1000", "4000", "16000", "64000")
LONGEST = "50"  # tokens of a test expression
LATENT_TASKS = {"listops": ("--max-length", LONGEST), "logic": ()}  # options of the tests of these tasks
LATENT = ("ordered-memory", "gumbel-tree-lstm", "crvnn", "rl-spinn")  # models of tasks that find trees
SHOWN = 8  # relations
MASKED_MODELS = ("udgn", "structformer", "transformer")
SETTINGS = ("data.vocabulary_size=12000", "data.minimum_count=2")  # the same words for all models of the free text
ONCE = (  # for a model that reads the text once, and thus cannot memorize it
    *(f"model.{part}_dropout=0.05" for part in ("embedding", "input", "hidden", "output")),
    *("model.weight_dropout=0.0", "optimizer.learning_rate=0.003"),
)
OWN = {"lstm": ONCE, "onlstm": ONCE}
COLLECTIONS = {"marvin-linzen": 120, "blimp": 60}  # minimal pairs of each phenomenon
MAX_PHENOMENA = 30  # in a table; otherwise their groups are listed
RATED = "sts/stsb_open_subset/sts-{}.csv"
RATED_TESTS = (RATED.format("test"), "sts/sick/SICK_test_annotated.txt")
TUNED = {"tuned": ("fine-tuned", ()), "frozen": ("fine-tuned, parser frozen", ("model.frozen=parser",))}


WSJ_PARTS = {"train": 3253, "dev": 248, "test": 413}  # sentences of files 0001-0149, 0150-0169 and 0170-0199
WSJ_MODELS = ("onlstm", "onlstm-syd", "prpn", "prpn-syd")
WSJ_PASSES = ("loader.name=stream", "train.epochs=12")
GIVEN_TREES = ("tree-cell", "tree-rnn", "tree-lstm")
COMPLETE = ("epochs", "no more progress")  # reasons why a training ends that is not continued
OPERATORS = ("7", "8", "9", "10", "11", "12-")


class Progress(NamedTuple):
    """Passes of a run over its text, words that it has read, and CPU minutes."""

    passes: float
    words: float
    minutes: float

    @classmethod
    def of(cls, run: Path) -> Self:
        """The progress of the run in a folder, which may not exist."""
        words, passes = 0, 0.0
        for event in read_log(run / LOG):
            words = event.get("words", words)
            if event["event"] == "progress":
                passes = event["epoch"] - 1 + event["share"]
            elif event["event"] == "finished" and event["reason"] in COMPLETE:
                passes = event["epoch"] - 1
        return cls(passes, passes * words, read_json(minutes_of(run)) or 0.0)

    def cells(self) -> list[str]:
        """Cells of a table."""
        return [f"{self.passes:.1f}", f"{self.words / 1e6:.1f} M", f"{self.minutes:.0f}"]


def minutes_of(run: Path) -> Path:
    """File with the CPU minutes of a run."""
    return run.with_name(f"{run.name}.minutes.json")


@dataclass(frozen=True)
class Bench:
    """Folders, the CPU minutes of each training, the settings that all trainings share, and the number of seeds."""

    data: Path
    folder: Path
    minutes: float
    settings: Sequence[str]
    seeds: Sequence[str]

    def train(
        self,
        name: str,
        arguments: Sequence[str],
        changes: Sequence[str] = (),
        *,
        seed: str = "1",
        share: float = 1.0,
        to_end: bool = False,
    ) -> str:
        """Run ``name`` of a training command with changed settings, trained for a ``share`` of the time if missing.

        With ``to_end``, it is trained for as long again unless all its epochs are done.
        """
        run = self.folder / name
        if self.minutes and not (done := run.with_name(f"{name}.done")).exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            options = repeated("--set", (*changes, *self.settings))
            command = arguments[: arguments.index("train") + 1 + (arguments[0] == "task")]
            rest = [*command, "--resume"] if (run / RESUME).exists() else [*arguments, "--seed", seed, *options]
            seconds = stop_after([*rest, "-o", str(run)], 60 * self.minutes * share)
            write_json(minutes_of(run), Progress.of(run).minutes + seconds / 60)
            if not to_end or read_log(run / LOG)[-1].get("reason") in COMPLETE:
                done.touch()
        return str(run)

    def sample_model(self, name: str, preset: str, changes: Sequence[str] = (), seed: str = "1") -> str:
        """A model trained on the built-in text, or on its trees if the preset needs them."""
        return self.train(name, ["train", "--preset", preset], changes, seed=seed)

    def text_model(self, model: str) -> str:
        """The small preset of ``model``, trained on the free text."""
        text = str(free_text(self.data, self.folder))
        return self.train(f"text-{model}", ["train", text, "--preset", f"{model}-small"], SETTINGS + OWN.get(model, ()))

    def read(self, name: str, *call: str) -> Any:
        """JSON output of a command, which is called unless its output is stored under ``name``."""
        return stored(self.folder / f"{name}.json", lambda: json.loads(synparse([*call, "--format", "json"])[0]))

    def perplexity(self, name: str, run: str) -> float:
        """Perplexity of the built-in sample."""
        scores: Sequence[Mapping[str, float]] = self.read(f"{name}-text", "perplexity", SAMPLE, "-m", run)["scores"]
        return scores[0]["value"]

    def attachment(self, name: str, run: str) -> Mapping[str, float]:
        """UAS and UUAS of the argmax heads on the built-in sample."""
        call = ("eval", "--gold", SAMPLE, "--convention", "udgn", "--decoder", "argmax", "-m", run)
        return {score["metric"]: score["value"] for score in self.read(f"{name}-heads", *call)["scores"]}


def attached(score: Mapping[str, float]) -> list[str]:
    """Table cells with UAS and UUAS."""
    return [f"{score['UAS']:.1f}", f"{score['UUAS']:.1f}"]


def masks(bench: Bench) -> str:
    """Table of UDGN's scores by mask rate (thesis, figure 12)."""
    rows = []
    for rate in MASKED:
        run = bench.sample_model(f"rate-{rate}", "udgn-small", [f"model.mask_rate={rate}"])
        rows.append([rate, *attached(bench.attachment(f"rate-{rate}", run))])
    return markdown(["`model.mask_rate` (figure 12)", "UAS", "UUAS"], rows)


def ablations(bench: Bench) -> str:
    """Table of UDGN without each of its parts (thesis, table 9)."""
    rows = []
    for title, changes in ABLATIONS.items():
        name = f"without-{next(iter(changes), 'nothing').replace('model.', '')}"
        run = bench.sample_model(name, "udgn-small", changes)
        rows.append([title, f"{bench.perplexity(name, run):.0f}", *attached(bench.attachment(name, run))])
    return markdown(["left out (table 9)", "masked perplexity", "UAS", "UUAS"], rows)


def supervised(bench: Bench) -> str:
    """Table of the variants of ON-LSTM with supervised distances: mean and deviation over seeds."""
    rows = []
    for title, (preset, changes) in SUPERVISED.items():
        perplexities, trees = [], []
        for seed in SEEDS:
            name = f"supervised-{title.replace(' ', '-')}-{seed}"
            run = bench.sample_model(name, preset, changes, seed)
            perplexities.append(bench.perplexity(name, run))
            trees.append(bench.read(f"{name}-trees", "eval", "--gold", SAMPLE, "-m", run)["scores"][0]["value"])
        rows.append([title, spread(perplexities), spread(trees)])
    return markdown(["supervised (Du et al., table 4)", "perplexity", "UF1"], sorted(rows))


def channels(bench: Bench) -> str:
    """Table of channels and the most frequent relations, for three models of text (thesis, table 8)."""
    rows = []
    for name in MASKED_MODELS:
        call = ("analyze", "channels", "--gold", str(bench.data / EWT_GOLD), "--controls", "-m", bench.text_model(name))
        for relation in bench.read(f"channels-{name}", *call)["relations"][:SHOWN]:
            correlations = (relation[kind] for kind in ("correlation", "partial", "untrained", "permuted"))
            cells = (f"{value:.2f}" for value in correlations)
            rows.append([f"`{name}`", relation["relation"], f"{relation['arcs']:,}", *cells])
    return markdown(["", "relation (table 8)", "arcs", "best channel", "partial", "untrained", "permuted"], rows)


def pairs(bench: Bench) -> str:
    """Tables of the accuracy on minimal pairs, next to a unigram and a 5-gram model of the text."""
    tables = []
    for name, limit in COLLECTIONS.items():
        scores: list[dict[str, Any]] = []
        for model in ("lstm", "onlstm", "prpn", "udgn"):
            call = ["pairs", name, "--folder", str(bench.data / "syneval"), "--limit", str(limit)]
            call += [] if scores else ["--ngram-text", str(free_text(bench.data, bench.folder))]
            scores += bench.read(f"{name}-{model}", *call, "-m", bench.text_model(model))["scores"]
        tables.append(pairs_table(name, scores))
    return "\n\n".join(tables)


def pairs_table(title: str, scores: Sequence[dict[str, Any]]) -> str:
    """Table with a row for each phenomenon (or group, if there are many) and a column for each system."""
    parts = "phenomena" if len(scores[0]["phenomena"]) < MAX_PHENOMENA else "groups"
    rows = [(name, [score[parts][name] for score in scores]) for name in scores[0][parts]]
    rows.append(("**all pairs**", [score["overall"] for score in scores]))
    lines = [[name, f"{cells[0]['pairs']:,}", *map(with_interval, cells)] for name, cells in rows]
    lines.append(["% of pairs with an unknown word", "", *(f"{score['unknown_percent']:.1f}" for score in scores)])
    return markdown([title, "pairs", *(score["system"] for score in scores)], lines)


def similarity(bench: Bench) -> str:
    """Table of the correlations with ratings of similarity, of models of the text alone and after fine-tuning."""
    rated = [str(bench.data / RATED.format("train")), "--dev", str(bench.data / RATED.format("dev"))]
    tests = [str(bench.data / name) for name in RATED_TESTS]
    rows: list[list[str]] = []
    for model in MASKED_MODELS:
        pretrained = bench.text_model(model)
        runs = {"text alone": pretrained}
        for key, (way, changes) in TUNED.items():
            if key == "tuned" or model != "transformer":  # which has no parser
                call = ["task", "train", "similarity", *rated]
                settings = (f"task.pretrained={pretrained}", *changes)
                runs[way] = bench.train(f"{model}-{key}", call, settings, share=0.25)
        for way, run in runs.items():
            call = ["task", "eval", "similarity", *tests, "-m", run]
            scores = bench.read(f"{Path(run).name}-similarity", *call)["scores"]
            groups = {score["system"]: score["groups"] for score in scores}
            words, learned = groups.pop("bag-of-words"), next(iter(groups.values()))
            rows += [] if rows else [["bag of words", *correlations(words)]]
            rows.append([f"`{model}`, {way}", *correlations(learned)])
    return markdown(["Spearman's correlation", "STS-B", "SICK"], rows)


def correlations(groups: Mapping[str, Any]) -> list[str]:
    """Cells with the correlation on each test set, times 100, with its interval."""
    cells = []
    for path in RATED_TESTS:
        correlation = groups[Path(path).name]["spearman"]
        low, high = (100 * end for end in correlation["interval"])
        cells.append(f"{100 * correlation['value']:.1f} [{low:.1f}, {high:.1f}]")
    return cells


def sharpness(bench: Bench) -> str:
    """Table of the sharpness of ON-LSTMs and their UF1, by seed."""
    call = ["train", str(bench.data / CRAFT), "--preset", "onlstm-small"]
    runs = [bench.train(f"onlstm-{seed}", call, seed=seed) for seed in MANY_SEEDS]
    chosen, gold = repeated("-m", runs), str(bench.data / CRAFT_GOLD)
    scored = bench.read("onlstm-scores", "eval", "--gold", gold, "--convention", "on-lstm", *chosen)["scores"]
    scores = {score["model"]: f"{score['value']:.1f}" for score in scored}
    call = ["analyze", "sharpness", gold, "--scores", str(bench.folder / "onlstm-scores.json"), *chosen]
    report = bench.read("onlstm-sharpness", *call)
    kinds = list(report["systems"][0]["values"])
    rows = [
        [seed, scores[system["model"]], *(f"{system['values'][kind]:.3f}" for kind in kinds)]
        for seed, system in zip(MANY_SEEDS, report["systems"], strict=True)
    ]
    for name in ("spearman", "pearson"):
        rows.append(
            [f"{name.capitalize()}, with UF1", "", *(correlated(report["correlations"][k][name]) for k in kinds)]
        )
    return markdown(["ON-LSTM, seed", "UF1 on CRAFT", *kinds], rows)


def learning(bench: Bench) -> str:
    """Table of Ordered Memory's scores by the number of training expressions (thesis, figure 7b)."""
    rows = []
    for count in EXPRESSIONS:
        run = bench.train(f"listops-{count}", ["task", "train", "listops"], [f"task.expressions={count}"])
        call = ("task", "eval", "listops", "--max-length", LONGEST, "-m", run)
        (score,) = bench.read(f"listops-{count}-score", *call)["scores"]
        rows.append([f"{int(count):,}", with_interval(score), with_interval(score["trees"])])
    return markdown(["ListOps, expressions (figure 7b)", "accuracy", "UF1"], rows)


def latent(bench: Bench) -> str:
    """Table of the models that learn trees from the answers of a task: mean and deviation over seeds."""
    rows = []
    for task, name in product(LATENT_TASKS, LATENT):
        scores = []
        for seed in SEEDS:
            run = bench.train(f"{task}-{name}-{seed}", ["task", "train", task, "--model", name], seed=seed)
            call = ("task", "eval", task, *LATENT_TASKS[task], "-m", run)
            scores += bench.read(f"{task}-{name}-{seed}-score", *call)["scores"]
        values = ([score["value"] for score in scores], [score["trees"]["value"] for score in scores])
        rows.append([task, f"`{name}`", *map(spread, values)])
    return markdown(["trees from answers", "", "accuracy", "UF1"], rows)


def wsj(bench: Bench) -> str:
    """Table of language models with and without supervised distances, all read as streams for equally many passes."""
    parts = {part: bench.folder / f"wsj-{part}.mrg" for part in WSJ_PARTS}
    if not parts["test"].exists():
        os.environ.setdefault("NLTK_DATA", str(bench.data / "nltk_data"))
        lines = iter(synparse(["convert", "wsj"])[0].splitlines(keepends=True))
        for part, count in WSJ_PARTS.items():
            bench.folder.mkdir(parents=True, exist_ok=True)
            write_whole(parts[part], "".join(islice(lines, count)).encode())
            write_whole(
                parts[part].with_suffix(".txt"), synparse(["convert", str(parts[part]), "--format", "text"])[0].encode()
            )
    rows = []
    for seed, model in product(bench.seeds, WSJ_MODELS):
        text = ["--trees", str(parts["train"])] if model.endswith("syd") else [str(parts["train"].with_suffix(".txt"))]
        command = ["train", *text, "--dev", str(parts["dev"].with_suffix(".txt")), "--preset", f"{model}-small"]
        run = bench.train(f"wsj-{model}-{seed}", command, WSJ_PASSES, seed=seed, to_end=True)
        if (progress := Progress.of(Path(run))).passes:
            name = f"wsj-{model}-{seed}-{progress.passes:.1f}"
            call = ("perplexity", str(parts["test"].with_suffix(".txt")), "-m", run)
            perplexity = bench.read(f"{name}-text", *call)["scores"][0]["value"]
            trees = ("eval", "--gold", str(parts["test"]), "--convention", "on-lstm", "-m", run)
            score = bench.read(f"{name}-trees", *trees)["scores"][0]
            rows.append([f"`{model}`", seed, *progress.cells(), f"{perplexity:.1f}", f"{score['value']:.1f}"])
    return markdown(["WSJ sample", "seed", "passes", "words read", "CPU minutes", "perplexity", "UF1"], sorted(rows))


def given_trees(bench: Bench) -> str:
    """Table of the encoders that receive gold trees, by the number of operators (thesis, table 5)."""
    rows = []
    for seed, model in product(bench.seeds, GIVEN_TREES):
        files = bench.data / "proplog"
        command = ["task", "train", "logic", str(files / "train.zip"), "--preset", "logic", "--model", model]
        run = bench.train(f"logic-{model}-{seed}", command, seed=seed, to_end=True)
        if (progress := Progress.of(Path(run))).passes:
            call = ("task", "eval", "logic", str(files / "test.zip"), "-m", run)
            (score,) = bench.read(f"logic-{model}-{seed}-{progress.passes:.1f}", *call)["scores"]
            cells = (f"{100 * correct / count:.1f}" for correct, count in map(score["groups"].get, OPERATORS))
            rows.append([f"`{model}`", seed, *progress.cells(), *cells])
    return markdown(["operators (table 5)", "seed", "epochs", "words read", "CPU minutes", *OPERATORS], sorted(rows))


def imitation(bench: Bench) -> str:
    """Table of segments and options of Option-Controller Networks by update (thesis, figure 19)."""
    from induce.storage.checkpoint import Check
    from induce.tasks.craft.policy_scores import load_test, segment_scores
    from induce.training.prepare import prepare_run
    from induce.training.request import RunRequest

    by_step: dict[int, list[Mapping[str, float]]] = {}
    for seed in bench.seeds:
        run = bench.folder / f"imitation-{seed}"
        curve, resume = run.with_name(f"{run.name}.curve.json"), (run / RESUME).exists()
        new: dict[str, Any] = {"preset": "craft", "settings": bench.settings, "seed": int(seed)}
        scores = read_json(curve) or {}
        if bench.minutes:
            trainer = prepare_run(RunRequest(run=str(run), purpose="craft", resume=resume, **({} if resume else new)))
            demonstrations = load_test((), trainer.run.config.purpose)
            for event in trainer.train(max_minutes=bench.minutes):
                if isinstance(event, Check):
                    model, actions = trainer.run.model.eval(), trainer.run.vocabulary
                    scores[str(event.step)] = segment_scores(model, demonstrations, actions, trainer.run.device)
                    write_json(curve, scores)
        for step, values in scores.items():
            by_step.setdefault(int(step), []).append(values)
    rows = []
    for step, runs in sorted(by_step.items()):
        means = [spread([run[name] for run in runs]) for name in ("actions", "F1 tol 1", "align", "NMI")]
        rows.append([f"{step:,}", *means, ", ".join(f"{run['NMI']:.1f}" for run in runs)])
    return markdown(["updates (figure 19)", "actions", "F1, 1 step", "align", "NMI", "NMI by seed"], rows)


def correlated(correlation: Mapping[str, Any]) -> str:
    """A correlation with its interval."""
    return f"{correlation['value']:.2f} [{correlation['low']:.2f}, {correlation['high']:.2f}]"


TABLES: Mapping[str, Callable[[Bench], str]] = {
    "masks": masks,
    "ablations": ablations,
    "supervised": supervised,
    "channels": channels,
    "pairs": pairs,
    "similarity": similarity,
    "sharpness": sharpness,
    "learning": learning,
    "latent": latent,
    "wsj": wsj,
    "given-trees": given_trees,
    "imitation": imitation,
}


def main() -> None:
    """Train, score, print and write."""
    parser = experiment(__doc__, "tables")
    parser.add_argument("--minutes", type=float, default=2.0, help="CPU minutes of each training")
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="for every training")
    parser.add_argument("--seeds", type=int, default=3, help="seeds of the tables that train by epochs")
    parser.add_argument("--only", nargs="+", default=list(TABLES), choices=TABLES)
    options = parser.parse_args()
    seeds = [str(seed) for seed in range(1, options.seeds + 1)]
    bench = Bench(options.data, options.out, options.minutes, options.set, seeds)
    print(f"{processor()[0]}, one thread, {options.minutes:g} minutes of a processor for each training.")
    for name in options.only:
        print(TABLES[name](bench), flush=True)


if __name__ == "__main__":
    main()
