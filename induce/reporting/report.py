"""HTML report about trained models: training, scores, agreement, and pictures of sentences."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from induce.parsing.load import load_parser
from induce.parsing.parser import Parser, with_rule
from induce.parsing.systems import check_words, system_of
from induce.reporting import sections
from induce.reporting.parsed import Compared, Parsed
from induce.reporting.runs import RunStory
from induce.storage.locate import expand_models, system_name
from treebank.base import VERSION
from treebank.base.arguments import check_count, check_type, ignore
from treebank.base.errors import SynparseError
from treebank.core.baselines import HEAD_BASELINES
from treebank.core.sentence import Treebank
from treebank.corpora.catalog import bound_of, load_gold, read_input, up_to
from treebank.draw.picture_files import render
from treebank.evaluate.evaluate import Evaluation, EvaluationPlan, evaluate
from treebank.evaluate.score_tables import compare_all
from treebank.io.read import DEFAULT_INPUT, InputOptions

DEFAULT_PICTURES = 4  # of each group
TREE_BASELINES = ("right", "left", "balanced", "random", "oracle", "gold")


@dataclass(frozen=True, kw_only=True)
class ReportPlan:
    """Models and data of a report.

    ``runs`` are folders, files or patterns of models; ``gold`` or ``text`` is parsed. Without ``baselines`` the usual
    ones are scored. ``pictures`` is the number of sentences in each group of pictures.
    """

    runs: Sequence[str]
    gold: str | Treebank | None = None
    text: Sequence[str] = ()
    baselines: Sequence[str] = ()
    conventions: Sequence[str] = ()
    max_length: int | None = None
    ptb: str | None = None
    input_options: InputOptions = DEFAULT_INPUT
    pictures: int = DEFAULT_PICTURES
    title: str = ""

    def __post_init__(self) -> None:
        """Raises SynparseError if a name is unknown, there is no model, or both gold and text are given."""
        if self.gold is not None and self.text:
            raise SynparseError("a report is about gold trees or about a text; name one of them")
        check_type("gold", self.gold, (str, Treebank, type(None)), "a path, the name of a treebank or a Treebank")
        check_count("pictures", self.pictures)
        if not self.runs:
            raise SynparseError("a report needs a model; name one with -m")
        EvaluationPlan(gold="", baselines=self.baselines, conventions=self.conventions, max_length=self.max_length)

    @property
    def data(self) -> str:
        """Name of the parsed data, empty if there is none."""
        return self.gold.name if isinstance(self.gold, Treebank) else self.gold or ", ".join(self.text)

    def command(self, name: str, *more: str) -> str:
        """The command line ``name`` of the same models and data."""
        words = ["synparse", name, *(part for run in self.runs for part in ("-m", run))]
        words += ["--gold", self.data] if self.gold is not None else []
        words += self.text if name == "report" else []
        words += [part for convention in self.conventions for part in ("--convention", convention)]
        words += ["--max-length", str(self.max_length)] if self.max_length else []
        words += ["--ptb", self.ptb] if self.ptb else []
        words += ["--encoding", self.input_options.encoding] if self.input_options.encoding else []
        return shlex.join([*words, *more])

    def own_options(self) -> Iterator[str]:
        """The options of ``synparse report`` besides those of `command`."""
        yield from (part for baseline in self.baselines for part in ("--baseline", baseline))
        options = self.input_options
        yield from ("--tokenizer", options.tokenize) if options.tokenize else ()
        yield from ("--paragraphs",) if options.paragraphs else ()
        yield from ("--input-format", options.form) if options.form else ()
        yield from ("--pictures", str(self.pictures)) if self.pictures != DEFAULT_PICTURES else ()
        yield from ("--title", self.title) if self.title else ()


class Report:
    """Data of the sections of a report, computed when first used. Each model parses once."""

    def __init__(self, plan: ReportPlan, *, report: Callable[[str], None] = ignore, **parsing: Any) -> None:
        self.plan, self.report, self.parsing = plan, report, parsing
        self.groups = expand_models(plan.runs)
        self.runs = list(dict.fromkeys(run for group in self.groups.values() for run in group))
        self.stories = [RunStory.read(run) for run in self.runs]

    @cached_property
    def treebank(self) -> Treebank:
        """The parsed sentences, possibly none."""
        plan = self.plan
        if isinstance(plan.gold, Treebank):
            return plan.gold
        if plan.gold is not None:
            options = plan.input_options
            return load_gold(plan.gold, ptb=plan.ptb, max_length=plan.max_length, input_options=options)
        parsers = self.parsers.values() if plan.text else ()
        rules, purposes = [parser.tokenization for parser in parsers], [parser.purpose for parser in parsers]
        options = with_rule(plan.input_options, rules, purposes)
        read = read_input(plan.text, input_options=options) if plan.text else ()
        treebank = up_to(Treebank(plan.data, [sentence for sentence in read if sentence.words]), plan.max_length)
        if plan.text and not len(treebank):
            bound = f" of 1 to {plan.max_length} words" if plan.max_length else ""
            raise SynparseError(f"{plan.data}: there is no sentence{bound} in it")
        return treebank

    @cached_property
    def parsers(self) -> dict[str, Parser]:
        """The parser of each model."""
        return {run: load_parser(run, report=self.report, **self.parsing) for run in self.runs}

    @cached_property
    def models(self) -> list[Parsed]:
        """Each model with its analyses."""
        parsed = []
        for run, parser in self.parsers.items():
            check_words(run, parser)
            name = system_name(parser.name, run)
            self.report(f"{run}: parsing {len(self.treebank):,} sentences")
            parsed.append(Parsed.of(parser, self.treebank.sentences, name=name, run=run))
        return parsed

    @cached_property
    def compared(self) -> Compared:
        return Compared(self.treebank.sentences, self.models)

    @cached_property
    def evaluation(self) -> Evaluation:
        """Scores of the models and of the baselines, with details, and comparisons of equal types. Only with gold."""
        plan = self.plan
        systems = []
        for model in self.models:
            system = system_of(model.parser, model.run)
            systems.append(replace(system, predict=model.predictions(system.name)))
        bound = plan.max_length if isinstance(plan.gold, Treebank) else bound_of(plan.gold or "", plan.max_length)
        scored = EvaluationPlan(
            gold=self.treebank,
            baselines=plan.baselines or self._usual_baselines(),
            conventions=plan.conventions,
            max_length=bound,
            details=True,
        )
        evaluation = evaluate(scored, systems, self.groups)
        return replace(evaluation, comparisons=compare_all(evaluation.scores, self.groups))

    def _usual_baselines(self) -> list[str]:
        outputs = {model.parser.output for model in self.models}
        return [*(TREE_BASELINES if "trees" in outputs else ()), *(HEAD_BASELINES if "heads" in outputs else ())]

    def eval_command(self) -> str:
        """The command that prints the scores."""
        baselines = self.plan.baselines or self._usual_baselines()
        named = [part for name in baselines for part in ("--baseline", name)]
        compare = ["--compare"] if self.evaluation.comparisons else []
        return self.plan.command("eval", *self._parsing_options(), *named, *compare)

    def _parsing_options(self) -> list[str]:
        """The options with which the parsers were loaded."""
        known = {"decoder": None, "priors": None, "device": "auto"}
        chosen = {name: self.parsing[name] for name in known if self.parsing.get(name) not in (None, known[name])}
        return [part for name, value in chosen.items() for part in (f"--{name}", str(value))]

    def html(self) -> str:
        """The page: scores and trees, and then the training, which explains them."""
        plan, parts = self.plan, list[sections.Section]()
        if plan.gold is not None:
            parts += sections.scores(self.evaluation, self.eval_command())
        if len(self.treebank):
            evaluation = self.evaluation if plan.gold is not None else None
            parts += sections.pictures(self.compared, evaluation, plan.pictures)
            parts += [sections.frequent(self.compared), sections.agreement(self.compared)]
            parts.append(sections.calibration(self.compared))
        parts += [sections.learned(self.stories), sections.curves(self.stories)]
        title = plan.title or "Trained models" + (f": {os.path.basename(plan.data.rstrip('/'))}" if plan.data else "")
        parts = [section for section in parts if section.blocks]
        made_by = plan.command("report", *self._parsing_options(), *plan.own_options())
        return render("report.html", __package__, title=title, sections=parts, version=VERSION, command=made_by)
