"""Sources of a training run: text, development text, trees and teachers, as given by the user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from induce.registry import MODELS, load, teacher_entry
from induce.settings.run import RunConfig, entry_of
from induce.storage.locate import PathType, locate
from induce.storage.outputs import check_new_folder
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence, as_sentence
from treebank.corpora.catalog import files_of, read_input
from treebank.io.read import DEFAULT_INPUT, InputOptions

Text = str | Sequence[str]  # a path, a pattern, or a sentence as a list of words


@dataclass(frozen=True)
class Sources:
    """Data of a run, as given by the user.

    ``text`` and ``dev`` are paths, or in a program lists of words. Without ``text`` and ``trees``, the run uses the
    built-in sample.
    """

    text: Sequence[Text] = ()
    dev: Sequence[Text] = ()
    trees: str | None = None
    input_options: InputOptions = DEFAULT_INPUT
    teachers: Sequence[str] = ()  # models, files of trees or heads, or ``seminfo``, that a model learns from

    @property
    def sample(self) -> bool:
        """Whether the run uses the built-in sample."""
        return not self.text and not self.trees

    def check(self, config: RunConfig) -> None:
        """Raise SynparseError if the sources do not suit the model, or if a path does not exist."""
        self.check_model(config)
        texts = [path for path in self.text if not is_corpus(path)]
        files_of([path for path in (*texts, *self.dev) if isinstance(path, str)])

    def check_model(self, config: RunConfig) -> None:
        """Raise SynparseError if the sources do not suit the model: some models learn from trees and others cannot."""
        name, learns_trees = config.model_name, entry_of(config).learns_trees
        if self.trees and not learns_trees:
            learners = " and ".join(name for name, entry in MODELS.items() if entry.learns_trees)
            raise SynparseError(f"model {name!r} learns from plain text alone; --trees is for {learners}")
        if self.text and not self.trees and not self.teachers and learns_trees:
            raise SynparseError(
                f"model {name!r} also learns from trees; give them with --trees TREEBANK, or a model with --teacher"
            )
        if self.trees and self.teachers:
            raise SynparseError("--trees and --teacher exclude each other: a model learns from one type of trees")
        if entry_of(config).needs_teacher and not self.teachers:
            output = entry_of(config).teacher_output
            raise SynparseError(f"model {name!r} learns from {output} of another model; name it with --teacher MODEL")
        if self.teachers:
            load(teacher_entry(self.teachers).check)(self, config)
        prepared = [path for path in self.text if is_corpus(path)]
        if prepared and (len(self.text) > 1 or self.trees or self.teachers or config.task_name):
            raise SynparseError(f"{prepared[0]}: a prepared corpus is trained on alone, without other text or trees")

    def check_output(self, folder: str, config: RunConfig) -> None:
        """Raise SynparseError if the run folder ``folder`` would replace a file of the sources or settings."""
        paths = [path for path in (*self.text, *self.dev) if isinstance(path, str)]
        vocabulary = [config.data.vocabulary] if config.data.vocabulary else []
        check_new_folder(folder, inputs=[*paths, *vocabulary], gold=self.trees, models=self.teachers)


def names_of(text: Sequence[Text]) -> list[str]:
    """Paths in ``text``, and one name for all lists of words."""
    paths = [path for path in text if isinstance(path, str)]
    return paths if len(paths) == len(text) else [*paths, f"{len(text) - len(paths)} sentences of a program"]


def is_corpus(text: Text) -> bool:
    """Whether ``text`` is the path of a prepared corpus."""
    return isinstance(text, str) and locate(text).type is PathType.CORPUS


def read_text(
    text: Sequence[Text], options: InputOptions = DEFAULT_INPUT, *, part: str = "train"
) -> Iterator[Sentence]:
    """Sentences of files and treebanks, followed by those given as lists of words.

    ``part`` is the part of the built-in sample that is read under the name ``sample``. Raises SynparseError for a word
    that is empty or contains white space.
    """
    paths = [path for path in text if isinstance(path, str)]
    if paths:
        yield from read_input(paths, input_options=options, part=part)
    for words in text:
        if not isinstance(words, str):
            yield as_sentence(words)
