"""Text, trees and teachers of a training run, in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from induce.data.corpus_checks import Watch
from induce.data.prepared import PreparedText
from induce.data.tokens import leaf
from induce.data.vocabulary_choice import choose_vocabulary, joining_of
from induce.device import choose_device
from induce.registry import TASKS, load, teacher_entry
from induce.settings.run import RunConfig
from induce.storage.facts import RunFacts, TreesFacts
from induce.training.corpora import load_corpora, load_trees
from induce.training.request import RunRequest, Stop, names_of

if TYPE_CHECKING:
    from induce.data.training_data import TrainingData
    from treebank.core.sentence import Treebank


@dataclass(frozen=True)
class RunData:
    """Text of a run in memory, before it is encoded."""

    training: TrainingData
    development: TrainingData
    facts: RunFacts
    config: RunConfig
    device: str
    notes: Sequence[str]  # remarks on the text for the user

    def encode(self) -> Any:
        """The training text as word indices. Several runs then share its memory."""
        vocabulary = choose_vocabulary(self.training, self.config.data)
        joining = joining_of(self.training, self.config.data)
        if self.development.words:
            self.development.encode(vocabulary, joining)
        return self.training.encode(vocabulary, joining)


def load_run_data(config: RunConfig, request: RunRequest, stop: Stop = lambda: False) -> RunData:
    """Texts and trees in memory. Raises KeyboardInterrupt if ``stop`` returns true while a teacher parses the text."""

    if config.task_name:
        texts = names_of(request.text), names_of(request.dev)
        training, development = load(TASKS.get(config.task_name).examples)(config, *texts)
        return RunData(training, development, _facts(request, None, ""), config, choose_device(request.device), ())
    treebank, references, remaining, annotation = load_trees(config, request), None, request, ""
    if request.teachers:
        supervision = load(teacher_entry(request.teachers).supervise)(request, config)
        annotation = supervision.annotation
        if supervision.treebank:
            treebank, remaining = supervision.treebank, replace(request, text=())  # the text comes with its trees
        else:
            references = _stoppable(supervision.references, stop)
    watch = Watch()
    training, development = load_corpora(config, remaining, treebank, references, watch)
    facts = replace(_facts(request, None if annotation else treebank, config.data.trees), annotation=annotation)
    if watch.health.sentences:
        facts = replace(facts, health=watch.health.to_json())
    notes = list(watch.health.report(token=leaf(config.data.token))) if watch.health.sentences else []
    if isinstance(training, PreparedText):
        facts, notes = replace(facts, health=training.corpus.facts.health), list(training.corpus.facts.notes)
    return RunData(training, development, facts, config, choose_device(request.device), notes)


def _facts(request: RunRequest, treebank: Treebank | None, trees: str) -> RunFacts:
    """Facts about the data of a run. ``trees`` is the type of the trees of ``treebank``."""
    name = request.trees or "sample"
    about = TreesFacts(name=name, note=treebank.note, kind=trees, sentences=len(treebank)) if treebank else None
    return RunFacts(
        texts=tuple(names_of(request.text)),
        development_texts=tuple(names_of(request.dev)),
        paragraphs=request.input_options.paragraphs,
        form=request.input_options.form,
        encoding=request.input_options.encoding,
        teachers=request.teachers,
        trees=about,
    )


def _stoppable(references: Callable[[Any], Iterator[Any]], stop: Stop) -> Callable[[Any], Iterator[Any]]:
    """``references`` that raise KeyboardInterrupt once ``stop`` returns true."""

    def until_stopped(sentences: Any) -> Iterator[Any]:
        for reference in references(sentences):
            if stop():
                raise KeyboardInterrupt
            yield reference

    return until_stopped
