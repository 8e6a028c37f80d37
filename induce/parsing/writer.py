"""Output of parsed text as lines: formats, single files, folders of files, and resuming of interrupted jobs."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from induce.parsing.output_lock import OutputFolder, locked_output
from induce.parsing.parser import Parser
from treebank.base.atomic_write import finish
from treebank.base.errors import BadLineError, SynparseError, TreebankError, placed
from treebank.base.json_text import json_text
from treebank.core.sentence import Location, Sentence
from treebank.core.tree import Tree
from treebank.draw.picture import Analysis
from treebank.io.conllu_writer import ConlluWriter
from treebank.io.expand import expand
from treebank.io.lines import OnBad
from treebank.io.read import InputOptions, OnSentence, read_sentences
from treebank.io.source import AnyPath

#: format that can be resumed -> suffix of its files
SUFFIXES = {"brackets": ".trees", "jsonl": ".jsonl", "conllu": ".conllu"}

PART_SUFFIX = ".part"  # of an incomplete output file

Draw = Callable[[Analysis, Sentence], str]


class SentenceBuffer:
    """Passes sentences on and stores them until `next` returns them, in the same order.

    Each malformed sentence in ``broken`` is replaced by an empty sentence.
    """

    def __init__(self, sentences: Iterable[Sentence], broken: deque[TreebankError] | None = None) -> None:
        self._sentences = sentences
        self._broken = broken if broken is not None else deque()
        self._passed: deque[Sentence] = deque()

    def __iter__(self) -> Iterator[Sentence]:
        for sentence in self._sentences:
            yield from self._replacements(sentence.location)
            self._passed.append(sentence)
            yield sentence
        yield from self._replacements(None)

    def next(self) -> Sentence:
        """Remove and return the oldest stored sentence."""
        return self._passed.popleft()

    def _replacements(self, following: Location | None) -> Iterator[Sentence]:
        """Empty sentences for the malformed ones before position ``following``. Readers may be further ahead."""
        while self._broken and (following is None or _before(self._broken[0], following)):
            self._broken.popleft()
            empty = Sentence(())
            self._passed.append(empty)
            yield empty


def _before(error: TreebankError, position: Location) -> bool:
    return error.path != position.path or error.line < position.line


@dataclass(frozen=True)
class Job:
    """Parsing job: text read with ``input_options``, parsed by ``parser`` and written in the format ``form``.

    ``draw`` returns the pictures of the format ``drawing``. ``on_bad`` is called with the error of each malformed
    sentence, for which an empty line is written; without ``on_bad`` the first one raises its error. ``watch`` is called
    with the position of each sentence that is written.
    """

    parser: Parser
    form: str
    input_options: InputOptions
    draw: Draw | None = None
    on_bad: OnBad | None = None
    watch: OnSentence | None = None

    def lines(self, paths: Sequence[AnyPath], *, skip: int = 0, first: int = 1) -> Iterator[str]:
        """Lines of the sentences in ``paths``, in order, without the first ``skip`` sentences.

        ``first`` is the number of the first sentence in CoNLL-U output, if ``paths`` begin in the middle of a text.
        """
        broken: deque[TreebankError] = deque()
        on_bad = None if self.on_bad is None else self._error_collector(broken)
        options = replace(self.input_options, keep_annotation=True)
        self.parser.on_refused = self.on_bad
        source = SentenceBuffer(read_sentences(paths, input_options=options, on_bad=on_bad), broken)
        return self._written(source, skip, first)

    def _error_collector(self, broken: deque[TreebankError]) -> OnBad:
        def collect(error: TreebankError) -> None:
            if not isinstance(error, BadLineError):  # the reader yields an empty sentence for these
                broken.append(error)
            if self.on_bad:
                self.on_bad(error)

        return collect

    def _written(self, source: SentenceBuffer, skip: int, first: int) -> Iterator[str]:
        sentences = iter(source)
        for _ in islice(sentences, skip):
            source.next()
        if self.form == "conllu":
            writer = ConlluWriter(first + skip, predicted=True)
            for words, heads in self.parser.parse_heads(sentences):
                sentence = self._next(source)
                yield writer(sentence if words else Sentence(()), heads, words=words)
            return
        if self.draw is not None and self.parser.output == "heads":
            for words, heads in self.parser.parse_heads(sentences):
                yield self.draw(Analysis("", tuple(words), heads=tuple(heads)), self._next(source))
            return
        self.parser.must_give("trees", "--format conllu")
        for reading in self.parser.read(sentences):
            if self.form == "jsonl":
                tree, sure = reading.sure_tree(self.parser.decode)
                yield placed_line(tree, self._next(source), sure)
            else:
                yield self._line(reading.tree(self.parser.decode), self._next(source))

    def _next(self, source: SentenceBuffer) -> Sentence:
        sentence = source.next()
        if self.watch:
            self.watch(sentence.location)
        return sentence

    def _line(self, tree: Tree, sentence: Sentence) -> str:
        return str(tree) if self.draw is None else self.draw(Analysis.of_tree(tree), sentence)

    def facts(self) -> dict[str, Any]:
        """Everything except the text that determines the lines."""
        parser, options = self.parser, self.input_options
        return {
            "model": parser.name,
            "weights": parser.digest,
            "step": parser.facts.step if parser.facts else None,
            "text": parser.facts.training.sha256 if parser.facts else None,
            "decoder": parser.decoder,
            "layer": parser.layer,
            "distances": parser.distances,
            "format": self.form,
            "tokenization": options.tokenize,
            "paragraphs": options.paragraphs,
        }


def placed_line(tree: Tree, sentence: Sentence, sure: float | None) -> str:
    """``{"words": […], "spans": [[start, end], …], "confidence": 0.31, …}``, spans in pre-order.

    ``line`` is the line number in the file. For raw text, ``offsets`` are the character positions of each word in the
    file. For CoNLL-U, ``id`` and ``document`` are the values of the comments ``sent_id`` and ``newdoc id``.
    """
    value: dict[str, Any] = {"words": tree.words, "spans": tree.spans, "line": sentence.location.line}
    if sure is not None:
        value["confidence"] = sure
    if sentence.surface and len(tree.words) == len(sentence.words):
        value["offsets"] = sentence.surface.offsets()
    if sentence.annotation:
        known = {"id": sentence.annotation.comment("sent_id"), "document": sentence.annotation.comment("newdoc id")}
        value |= {name: text for name, text in known.items() if text is not None}
    return json_text(value)


def parse_into(
    folder: str,
    paths: Sequence[str],
    job: Job,
    *,
    resume: bool = False,
    tell: Callable[[str], None] = lambda text: None,
) -> int:
    """Write a file into ``folder`` for each file in ``paths`` and return the number of sentences written.

    A file is written as ``NAME.part`` and renamed when it is complete. With ``resume``, complete files are not changed,
    and incomplete ones are continued after their last complete sentence, so that no sentence is lost or written twice.
    Raises SynparseError if the folder contains files of another batch, if it contains files and ``resume`` is false, or
    if a text has changed since its output was written.
    """
    written = 0
    with output_folder(folder, paths, job, resume) as (claim, names):
        for number, (path, name) in enumerate(names.items(), 1):
            target = os.path.join(folder, name)
            claim.check(path, name, begun=os.path.exists(target) or os.path.exists(target + PART_SUFFIX))
            if os.path.exists(target):
                continue
            count = _parse_one(path, target, job)
            written += count
            tell(f"{number} of {len(names)} files: {path}: {count:,} sentences")
    return written


@contextmanager
def output_folder(
    folder: str, paths: Sequence[str], job: Job, resume: bool
) -> Iterator[tuple[OutputFolder, dict[str, str]]]:
    """Lock ``folder``, and yield it with the name in it of the output of each input file.

    A name is the path below the common folder of all files, and a suffix. Raises SynparseError for a format that cannot
    be resumed, for standard input, and as `locked_output` does.
    """
    if job.form not in SUFFIXES:
        raise SynparseError(f"--output-dir writes {', '.join(SUFFIXES)}, not {job.form}")
    files = expand(paths, notify=job.input_options.notify)
    if "-" in files:
        raise SynparseError("trees of standard input have no file name in --output-dir; use -o FILE")
    shared = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in files])
    names = {path: os.path.relpath(os.path.abspath(path), shared) + SUFFIXES[job.form] for path in files}
    with locked_output(folder, job.facts(), list(names.values()), resume) as claim:
        yield claim, names


def _parse_one(path: str, target: str, job: Job) -> int:
    """Write the file ``target``, or the rest of it, and return the number of sentences written."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    part = target + PART_SUFFIX
    done = 0
    if os.path.exists(part):
        done, size = whole_sentences(part, job.form)
        os.truncate(part, size)
    count = 0
    with placed(part), open(part, "a", encoding="utf-8", errors="surrogateescape", newline="\n") as stream:
        for line in job.lines([path], skip=done):
            print(line, file=stream)
            count += 1
    finish(part, target)
    return count


def whole_sentences(path: str, form: str) -> tuple[int, int]:
    """Number of complete sentences at the beginning of an interrupted file, and their bytes."""
    count = size = position = 0
    rows = False
    with open(path, "rb") as stream:
        for line in stream:
            position += len(line)
            if not line.endswith(b"\n"):
                break
            rows = form == "conllu" and line != b"\n"
            if not rows:
                count, size = count + 1, position
    return count, size
