"""Corpora of trees and heads: treebanks, parsed text, and plain text that a model parses while it is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, overload

from treebank.base.arguments import STRING, check_count, plain_options
from treebank.base.errors import SynparseError, TreebankError
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree
from treebank.corpora.catalog import is_name, read_input
from treebank.io.formats import FORMATS, TEXT, detect
from treebank.io.lines import OnBad
from treebank.io.read import DEFAULT_INPUT, InputOptions, expand, read_sentences, rest_left_out
from treebank.io.source import STDIN, Source
from treebank.search.search import Match, Search

if TYPE_CHECKING:
    from induce.parsing.parser import Parser
    from treebank.search.phrases import PhraseTable

#: a path, pattern or name of a treebank, or a sentence: a `Sentence`, a tree, an nltk tree or a string in brackets
Item = str | os.PathLike[str] | Sentence | Tree | Any


class Corpus:
    """Sentences with trees or heads, which are read again for each iteration and never held in memory together.

    >>> corpus = Corpus(["(S (NP (DT the) (NN cat)) (VP (VBD sat)))", "(S (NP (PRP it)) (VP (VBD sat)))"])
    >>> [match.phrases for match in corpus.search("NP < DT")]
    [[('the', 'cat')]]
    >>> len(corpus), corpus[1].words, [sentence.words for sentence in corpus[:1]]
    (2, ('it', 'sat'), [('the', 'cat', 'sat')])
    """

    def __init__(
        self,
        source: Item | Iterable[Item],
        *,
        model: str | os.PathLike[str] | Parser | None = None,
        input_options: InputOptions = DEFAULT_INPUT,
        ptb: str | None = None,
        on_bad: OnBad | None = None,
    ) -> None:
        """``source`` is an item or a list of them: files, folders, patterns, names of treebanks, or trees.

        ``model``, a path or a parser, parses the files without trees or heads. ``on_bad`` is called with the error of
        each malformed sentence, which is skipped, and of each of several files that cannot be read to its end; without
        it, the first error is raised.
        """
        is_one = isinstance(source, str | Sentence) or hasattr(source, "leaves") or not isinstance(source, Iterable)
        self.items: list[Any] = [source] if is_one else list(source)  # type: ignore[arg-type]
        self._model, self._ptb = model, ptb
        self._input_options, self._on_bad = input_options, on_bad
        self._length: int | None = None
        self._was_read = False

    def __iter__(self) -> Iterator[Sentence]:
        """The sentences in order. Raises SynparseError for a second reading of standard input."""
        if STDIN in self.items and self._was_read:
            raise SynparseError("standard input can be read only once; save it in a file")
        self._was_read = True
        return (sentence for item in self.items for sentence in self._sentences(item))

    def __len__(self) -> int:
        """The number of sentences, for which the corpus is read once."""
        if self._length is None:
            self._length = sum(1 for _ in self)
        return self._length

    @overload
    def __getitem__(self, index: int) -> Sentence: ...

    @overload
    def __getitem__(self, index: slice) -> Corpus: ...

    def __getitem__(self, index: int | slice) -> Sentence | Corpus:
        """A sentence, or the part of the corpus in a slice, which is read when it is used.

        Sentences before the index are read, too, and for a negative index the whole corpus. Raises ValueError for a
        negative step.
        """
        if isinstance(index, slice):
            return CorpusSlice(self, index)
        number = index + len(self) if index < 0 else index
        sentence = next(islice(self, number, None), None) if number >= 0 else None
        if sentence is None:
            raise IndexError(f"no sentence {index}: the corpus has {len(self):,}")
        return sentence

    def search(
        self,
        pattern: str,
        *,
        invert: bool = False,
        context: int = 0,
        limit: int | None = None,
        sample: int | None = None,
        seed: int = 1,
    ) -> Iterator[Match]:
        """The sentences that match ``pattern``, as ``synparse search`` finds them.

        With ``invert``, the sentences that do not match. ``context`` is the number of sentences before and after each
        match, in its attribute ``context``. ``limit`` is the largest number of results, ``sample`` the
        size of a random sample. Raises PatternError for a malformed pattern, and SynparseError for a negative number.
        """
        check_count("context", context)
        return iter(Search(pattern, self, invert=invert, context=context, limit=limit, sample=sample, seed=seed))

    def phrases(self, *, against: Item | Iterable[Item] | None = None, **filters: Any) -> PhraseTable:
        """The table of phrases or arcs of ``synparse phrases``. ``filters`` are the fields of `PhraseFilter`.

        With ``against``, a corpus or a source of one, the frequencies are compared with those in that corpus.
        """
        corpora = [self] if against is None else [self, against if isinstance(against, Corpus) else self.like(against)]
        from treebank.search.phrases import count_phrases

        return count_phrases(corpora, **plain_options(filters))

    def like(self, source: Item | Iterable[Item]) -> Corpus:
        """A corpus of another source that is read in the same way."""
        return Corpus(source, model=self._model, input_options=self._input_options, ptb=self._ptb, on_bad=self._on_bad)

    def _sentences(self, item: Item) -> Iterator[Sentence]:
        if isinstance(item, Sentence):
            return iter((item,))
        if not isinstance(item, str | os.PathLike) or str(item).lstrip().startswith("("):
            try:
                return iter((Sentence(()).with_tree(Tree.of(item)),))
            except (TypeError, ValueError) as error:
                raise SynparseError(f"cannot read this: {error}; give files, names of treebanks or trees") from None
        path, options = os.fspath(item), self._input_options
        if is_name(path):
            return read_input([path], input_options=options, on_bad=self._on_bad, ptb=self._ptb)
        files = expand([path], trees=self._model is None or None, notify=options.notify)
        is_only = len(files) == len(self.items) == 1
        return (sentence for file in files for sentence in self._read(Source(file, options.encoding), is_only))

    def _read(self, source: Source, is_only: bool) -> Iterator[Sentence]:
        """The sentences of one file, up to an error that ends it, which is raised for the only file.

        Raises SynparseError for plain text without a model.
        """
        options, on_bad = self._input_options, self._on_bad
        try:
            if not _has_only_words(source, options):
                sentences = read_sentences([source], trees=True, on_bad=on_bad, input_options=options)
                yield from sentences if self._model is None else self._with_analyses(sentences)
            elif self._model is not None:
                parser = self._parser()
                text = read_sentences([source], input_options=parser.input_options(options), on_bad=on_bad)
                yield from parsed(parser, text, on_bad)
            else:
                name = "standard input" if source.path == STDIN else source.path
                advice = "parse it with a model, such as -m english or -m english-heads"
                raise SynparseError(f"{name}: plain text without trees or heads; {advice}")
        except TreebankError as error:
            if on_bad is None or is_only:
                raise
            on_bad(rest_left_out(error))

    def _with_analyses(self, sentences: Iterator[Sentence]) -> Iterator[Sentence]:
        """The sentences of a treebank, which are parsed if the first one with words has neither a tree nor heads."""
        first: list[Sentence] = []
        for sentence in sentences:
            first.append(sentence)
            if sentence.words:
                break
        sentences = chain(first, sentences)
        is_annotated = not first or first[-1].tree is not None or first[-1].heads or not first[-1].words
        return sentences if is_annotated else parsed(self._parser(), sentences, self._on_bad)

    def _parser(self) -> Parser:
        """The parser for text, loaded when it is needed first."""
        from induce.parsing.parser import Parser

        if isinstance(self._model, str | os.PathLike):
            from induce.parsing.load import load_parser

            self._model = load_parser(self._model, report=self._input_options.notify)
        if not isinstance(self._model, Parser):
            raise SynparseError(f"model cannot be {self._model!r}; give {STRING}, or a parser")
        return self._model


class CorpusSlice(Corpus):
    """A part of a corpus, which reads that corpus again for each iteration."""

    def __init__(self, corpus: Corpus, part: slice) -> None:
        """Raises ValueError for a step below 1."""
        if part.step is not None and part.step < 1:
            raise ValueError(f"the step of a slice is {part.step}; a corpus is read forward, so it must be positive")
        super().__init__([])
        self._corpus, self._part = corpus, part

    def __iter__(self) -> Iterator[Sentence]:
        start, stop, step = self._part.start, self._part.stop, self._part.step
        if (start or 0) < 0 or (stop or 0) < 0:
            start, stop, step = self._part.indices(len(self._corpus))
        return islice(self._corpus, start, stop, step)


def _has_only_words(source: Source, options: InputOptions) -> bool:
    """Whether the format of a file has neither trees nor heads. Plain text that begins with a bracket has trees."""
    if options.form:
        return not FORMATS[options.form].structure
    detected = detect(source)
    if detected is not TEXT:
        return not detected.structure
    head = source.head().decode("utf-8", "replace").removeprefix("\ufeff").lstrip()
    return bool(head) and not head.startswith("(")


def parsed(parser: Parser, sentences: Iterable[Sentence], on_bad: OnBad | None) -> Iterator[Sentence]:
    """The ``sentences`` with the trees or heads that ``parser`` predicts, and its confidence in trees."""
    from induce.parsing.parser import PredictOptions
    from induce.parsing.reading import mean_confidence
    from induce.parsing.writer import SentenceBuffer

    buffer = SentenceBuffer([sentences])
    if parser.output == "heads":
        for words, heads, confidences in parser.parse_confident_heads(buffer, PredictOptions(on_refused=on_bad)):
            yield replace(
                buffer.next(),
                words=tuple(words),
                heads=tuple(heads),
                tags=(),
                relations=(),
                confidence=mean_confidence(confidences),
                confidences=confidences,
            )
        return
    for tree, confidences in parser.parse_confident(buffer, options=PredictOptions(on_refused=on_bad)):
        sure = mean_confidence(confidences)
        sentence = replace(buffer.next(), words=tree.words, tags=tree.tags, tree=tree)
        yield replace(sentence, confidence=sure, confidences=confidences)
