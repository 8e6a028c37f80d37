"""``synparse eval``: a model, files of trees or heads, and baselines against a treebank; or a model on a text."""

from __future__ import annotations

import gc
import glob
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cli.options import decoder_option, default_run, device_option, distances_option, layer_option
from cli.output import print_json
from cli.perplexity import check_usage, evaluate_text, text_options
from treebank.errors import SynparseError, nearest

if TYPE_CHECKING:
    from induce.parsing.parser import Parser
    from treebank.metrics.attachment import HeadSystem
    from treebank.metrics.evaluation import Expectation, System
    from treebank.metrics.report import ScoreReport
    from treebank.sentence import Treebank


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("predicted", nargs=-1, metavar="[PREDICTED]...")
@click.option(
    "--gold",
    metavar="GOLD",
    help="A file, folder or glob of trees or heads, or sample, wsj, wsj10, wsj23, … (see synparse info --data).",
)
@click.option("--task", metavar="NAME", help="In place of --gold: score models of a task, listops or logic.")
@click.option(
    "-m",
    "--run",
    "runs",
    multiple=True,
    metavar="RUN",
    help="A model folder, or a pattern such as 'runs/seed-*', which also gives mean and deviation; may be repeated.",
)
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="NAME",
    help="left, right, balanced, balanced-williams, random, random-uniform, oracle or gold; of heads previous or next; "
    "may be repeated.",
)
@click.option(
    "--convention",
    "conventions",
    multiple=True,
    metavar="NAME",
    help="on-lstm (the default), km, km-wsj10, km-prose, kim-sentence, kim-corpus or evalb, or one spelt like "
    "avg:corpus,root:keep; of heads udgn (their default), no-punct or all-tokens; may be repeated.",
)
@click.option("--max-length", type=click.IntRange(min=1), metavar="N", help="Only sentences of up to N words.")
@click.option("--compare", is_flag=True, help="Test the difference of every system from the first one.")
@click.option(
    "--by",
    type=click.Choice(["length", "height", "relation", "distance"]),
    multiple=True,
    help="Scores by sentence length; precision of constituents by height; recall of arcs by relation or by distance "
    "of the head. May be repeated.",
)
@click.option("--json", "form", flag_value="json", help="Write JSON instead of a table.")
@click.option("--csv", "form", flag_value="csv", help="Write comma-separated values.")
@click.option("--latex", "form", flag_value="latex", help="Write a LaTeX table.")
@click.option("--save", metavar="DIR", help="Also write DIR/scores.json and DIR/sentences.tsv, one line a sentence.")
@click.option(
    "--worst", type=click.IntRange(min=1), metavar="N", help="Draw the N worst trees of the first system beside gold."
)
@click.option("--ptb", metavar="DIR", help="A full Penn Treebank, for the names that begin with wsj.")
@click.option("--skip-bad", is_flag=True, help="Leave out broken gold sentences, each with a message.")
@click.option("--head-rules", metavar="NAME", help="Gold heads from trees: collins, yamada-matsumoto or stanford.")
@click.option("--seed", type=int, metavar="N", help="Draw random baselines once, instead of their exact expectation.")
@decoder_option
@layer_option
@distances_option
@device_option
@text_options
@click.pass_context
def evaluate(
    context: click.Context,
    predicted: Sequence[str],
    gold: str | None,
    task: str | None,
    runs: Sequence[str],
    baselines: Sequence[str],
    conventions: Sequence[str],
    max_length: int | None,
    compare: bool,
    by: Sequence[str],
    form: str | None,
    save: str | None,
    worst: int | None,
    ptb: str | None,
    skip_bad: bool,
    head_rules: str | None,
    seed: int | None,
    text: str | None,
    **others: Any,
) -> None:
    """Score models, files of trees or heads, and baselines against a treebank.

    PREDICTED are files with one tree a line, one for each gold sentence, or CoNLL-U files with heads. Without any, and
    without -m, the model in $SYNPARSE_MODEL or ./synparse-model is scored. With --text in the place of --gold, the
    perplexity of a text is printed; with --task, PREDICTED are test files of that task in the published format, and
    without any, test examples are generated.
    """
    check_usage(context, {**others, "form": form})
    if text is not None:
        evaluate_text(text, {pattern: _folders(pattern) for pattern in runs or [default_run()]}, form, others)
        return
    if task:
        from cli.tasks import evaluate_task

        folders = [folder for pattern in runs or [default_run()] for folder in _folders(pattern)]
        return evaluate_task(task, predicted, folders, device=others["device"], form=form, largest=max_length)
    assert gold is not None  # says `check_usage`
    from cli.scores import print_csv, print_latex, print_report, print_worst, save_sentences
    from treebank.catalog import bound_of
    from treebank.metrics.compare import compare_all

    gc.set_threshold(200_000, 20, 100)  # trees hold no cycles; looking for them would take a third of the time
    asked = _Asked(conventions, baselines, predicted)
    groups = {pattern: _folders(pattern) for pattern in runs or _default_runs(predicted, baselines)}
    treebank = _load(gold, ptb, skip_bad)
    if head_rules:
        from treebank.head_rules import find_rules

        find_rules(head_rules)
    parsers = _parsers(groups, {name: others[name] for name in ("decoder", "layer", "distances", "device")})
    kinds = {parser.output for parser in parsers.values()}
    asked.fit(treebank, kinds | ({"heads"} if head_rules else set()))
    bound = bound_of(gold, max_length)
    if "trees" in kinds and not asked.trees:
        raise SynparseError(
            "the models here give trees, not heads; name a --convention for trees, or a --decoder for heads"
        )
    if "heads" in kinds and not asked.heads:
        raise SynparseError(
            "the models here give heads, not trees; name a --convention for heads, or a --decoder for trees"
        )
    models = _models(parsers, treebank, bound)
    head_models = _head_models(parsers, treebank)
    systems = [*models.values()], [*head_models.values()]
    reports = asked.score(treebank, *systems, bound, seed, head_rules, details=form == "json" or bool(by))
    reports = _marked(reports, parsers)
    comparisons = compare_all(reports) if compare else []
    spreads = _spreads(groups, {**models, **head_models}, reports)
    scored = _scored(treebank, reports)
    document = _json(scored, reports, comparisons, spreads)
    if form == "json":
        print_json(document)
    elif form == "csv":
        print_csv(reports)
    elif form == "latex":
        print_latex(reports, spreads)
    else:
        print_report(scored, reports, comparisons, spreads, by)
    if worst:
        print_worst(treebank, reports, worst)
    if save:
        save_sentences(save, treebank, reports, document)


class _Asked:
    """Which conventions, baselines and files are of trees, and which of heads."""

    def __init__(self, conventions: Sequence[str], baselines: Sequence[str], predicted: Sequence[str]) -> None:
        """Raises SynparseError for an unknown name."""
        from treebank.baselines import BASELINES
        from treebank.formats.paths import HEAD_SUFFIXES, suffix
        from treebank.metrics.attachment import ATTACHMENT_CONVENTIONS, HEAD_BASELINES
        from treebank.metrics.conventions import CONVENTIONS, find_convention

        for name in conventions:
            if name not in ATTACHMENT_CONVENTIONS and name.partition(",")[0] in ATTACHMENT_CONVENTIONS:
                raise SynparseError(f"convention {name!r}: those of heads cannot be changed, but by --max-length")
            if ":" not in name and name.partition(",")[0] not in {**CONVENTIONS, **ATTACHMENT_CONVENTIONS}:
                raise SynparseError(
                    f"no convention {name!r}; {nearest(name, {**CONVENTIONS, **ATTACHMENT_CONVENTIONS})}"
                )
        for name in baselines:
            if name not in BASELINES and name not in HEAD_BASELINES:
                raise SynparseError(f"no baseline {name!r}; {nearest(name, {**BASELINES, **HEAD_BASELINES})}")
        self.heads = [ATTACHMENT_CONVENTIONS[name] for name in conventions if name in ATTACHMENT_CONVENTIONS]
        self.trees = [find_convention(name) for name in conventions if name not in ATTACHMENT_CONVENTIONS]
        self.tree_baselines = [name for name in baselines if name in BASELINES]
        self.head_baselines = [name for name in baselines if name in HEAD_BASELINES]
        self.head_files = [path for path in predicted if suffix(path) in HEAD_SUFFIXES]
        self.tree_files = [path for path in predicted if path not in self.head_files]

    def fit(self, gold: Treebank, kinds: set[str]) -> None:
        """Choose the default conventions that fit ``gold``. Raises SynparseError for what no convention scores.

        ``kinds``: what models give, "trees" or "heads" or both.
        """
        from treebank.metrics.attachment import ATTACHMENT_CONVENTIONS
        from treebank.metrics.conventions import CONVENTIONS

        has_trees = all(sentence.tree is not None for sentence in gold.sentences)
        if not self.heads and not self.trees:
            named = bool(self.head_baselines or self.head_files or "heads" in kinds)
            if named or not has_trees:
                self.heads = [ATTACHMENT_CONVENTIONS["udgn"]]
            trees = bool(self.tree_baselines or self.tree_files or "trees" in kinds)
            if has_trees and (trees or not named):
                self.trees = [CONVENTIONS["on-lstm"]]
            elif "trees" in kinds:
                found = f"{gold.name}: there are no trees to score those of the models against, only heads"
                raise SynparseError(f"{found}; of a model that also gives heads, name a --decoder for these")
        if self.trees and not has_trees:
            raise SynparseError(f"{gold.name}: there are no trees to score against, only heads (conventions udgn, …)")
        for what, kind, wanted in (
            ([*self.tree_baselines, *self.tree_files], "trees", self.trees),
            ([*self.head_baselines, *self.head_files], "heads", self.heads),
        ):
            if what and not wanted:
                raise SynparseError(f"{what[0]} has {kind}, but no convention for {kind} was named")

    def score(
        self,
        gold: Treebank,
        models: Sequence[System],
        head_models: Sequence[HeadSystem],
        bound: int | None,
        seed: int | None,
        rules: str | None,
        *,
        details: bool,
    ) -> list[ScoreReport]:
        """The reports of trees, then of heads. Raises SynparseError if there is nothing to score."""
        from treebank.baselines import SEEDED
        from treebank.metrics.attachment import HeadBaseline, HeadPredictions, evaluate_heads
        from treebank.metrics.evaluation import Baseline, Expectation, Predictions, evaluate

        trees: list[System | Expectation] = [*models, *map(Predictions.of_file, self.tree_files)]
        trees += [
            Expectation(name) if seed is None and name in SEEDED else Baseline(name, seed or 1)
            for name in self.tree_baselines
        ]
        heads: list[HeadSystem] = [
            *head_models,
            *map(HeadPredictions.of_file, self.head_files),
            *map(HeadBaseline, self.head_baselines),
        ]
        reports: list[ScoreReport] = []
        if self.trees and trees:
            reports += evaluate(gold, trees, self.trees, max_length=bound, details=details)
        if self.heads and heads:
            reports += evaluate_heads(gold, heads, self.heads, max_length=bound, rules=rules, details=details)
        if not reports:
            kind = (
                "heads: name a CoNLL-U file or --baseline next" if self.heads else "trees: name a file or a --baseline"
            )
            raise SynparseError(f"nothing to score has {kind}")
        return reports


def _load(gold: str, ptb: str | None, skip_bad: bool) -> Treebank:
    """The gold treebank; with ``skip_bad`` its note says how many sentences were broken."""
    from dataclasses import replace

    from treebank.catalog import load_whole

    broken = 0

    def tell(error: Exception) -> None:
        nonlocal broken
        broken += 1
        click.echo(f"synparse: {error}", err=True)

    treebank = load_whole(gold, ptb=ptb, on_bad=tell if skip_bad else None)
    if not broken:
        return treebank
    return replace(treebank, note=", ".join(filter(None, [treebank.note, f"{broken} broken left out"])))


def _folders(pattern: str) -> list[str]:
    """The model folders that a pattern names, or the one folder."""
    if os.path.lexists(pattern) or not glob.has_magic(pattern):
        return [pattern]
    found = sorted(glob.glob(pattern))
    if not found:
        raise SynparseError(f"{pattern}: no model folder fits this pattern")
    return found


def _default_runs(predicted: Sequence[str], baselines: Sequence[str]) -> list[str]:
    """The default model, if nothing else was named and it is there. Raises SynparseError if nothing can be scored."""
    from treebank.metrics.attachment import HEAD_BASELINES

    run = default_run()
    if predicted or (baselines and all(name in HEAD_BASELINES for name in baselines)):
        return []
    if os.path.exists(run):
        return [run]
    if baselines and not os.environ.get("SYNPARSE_MODEL"):
        return []
    raise SynparseError(
        f"nothing to score: there is no model in {run}; run `synparse train`, or name a model with -m, "
        "a file of trees, or a --baseline"
    )


def _parsers(groups: dict[str, list[str]], parsing: dict[str, Any]) -> dict[str, Parser]:
    """The parser of each model folder. Raises SynparseError for a model of characters, as gold trees are over words."""
    from induce.parsing.parser import load_parser

    parsers = {folder: load_parser(folder, **parsing) for group in groups.values() for folder in group}
    for folder, parser in parsers.items():
        if parser.unit != "word":
            found = f"{folder}: the trees of this model are over {parser.unit}s, and those of the treebank over words"
            raise SynparseError(f"{found}; to score trees, train with data.unit=word")
    return parsers


def _models(parsers: dict[str, Parser], gold: Treebank, bound: int | None) -> dict[str, System]:
    """The trees of each model that gives trees; a model sees no gold tree (see `Parser.parse`)."""
    from treebank.metrics.evaluation import Predictions, shorter

    scored = gold if bound is None or not parsers else shorter(gold, bound)
    return {
        folder: Predictions.of_model(_name(folder, parsers), parser.parse(scored.sentences))
        for folder, parser in parsers.items()
        if parser.output == "trees"
    }


def _head_models(parsers: dict[str, Parser], gold: Treebank) -> dict[str, HeadSystem]:
    """The heads of each model that gives heads."""
    from treebank.metrics.attachment import HeadPredictions

    return {
        folder: HeadPredictions.of_model(_name(folder, parsers), parser.parse_heads(gold.sentences))
        for folder, parser in parsers.items()
        if parser.output == "heads"
    }


def _marked(reports: Sequence[ScoreReport], parsers: dict[str, Parser]) -> list[ScoreReport]:
    """The reports, those of models with their folder, and saying so if they learned from trees."""
    from dataclasses import replace

    found = {_name(folder, parsers): (folder, parser.trees) for folder, parser in parsers.items()}
    marks = [found.get(report.system, ("", "")) for report in reports]
    return [replace(report, model=folder, trees=trees) for report, (folder, trees) in zip(reports, marks, strict=True)]


def _name(folder: str, parsers: dict[str, Parser]) -> str:
    """What a model is called in the scores: with its folder where there are several."""
    return f"{parsers[folder].name} {folder}" if len(parsers) > 1 else parsers[folder].name


def _spreads(
    groups: dict[str, list[str]], models: dict[str, System | HeadSystem], reports: Sequence[ScoreReport]
) -> list[dict[str, Any]]:
    """Mean and deviation over the models of each pattern that fits several."""
    from treebank.metrics.report import Runs

    spreads = []
    for pattern, folders in groups.items():
        names = {models[folder].name: folder for folder in folders if len(folders) > 1 and folder in models}
        ours = [report for report in reports if report.system in names]
        for convention, metric in dict.fromkeys((report.convention, report.metric) for report in ours):
            same = [report for report in ours if (report.convention, report.metric) == (convention, metric)]
            values = Runs({names[report.system]: report.value for report in same})
            spread = {"systems": pattern, "metric": metric, "convention": convention.name}
            spreads.append({**spread, **values.to_json()})
    return spreads


def _scored(gold: Treebank, reports: Sequence[ScoreReport]) -> Treebank:
    """The sentences that at least one report scores."""
    from dataclasses import replace

    places = sorted({place for report in reports for place in report.places})
    return replace(gold, sentences=[gold.sentences[place] for place in places])


def _json(
    gold: Treebank, reports: Sequence[ScoreReport], comparisons: Sequence[Any], spreads: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """What --json writes (see docs/conventions.md)."""
    from treebank.catalog import digest

    head = {"name": gold.name, "sentences": len(gold), "sha256": digest(gold), "note": gold.note}
    document: dict[str, Any] = {"gold": head, "scores": [report.to_json() for report in reports]}
    if comparisons:
        document["comparisons"] = [comparison.to_json() for comparison in comparisons]
    if spreads:
        document["groups"] = list(spreads)
    return document
