"""Parsers: the interface that all commands use, and the decoding of trees and heads from structures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

from induce import registry
from induce.data.vocabulary import Vocabulary
from induce.decoding import specification
from induce.parsing.reading import Confidences, ConfidentTree, Reading, ScoredHeads, ScoredTree
from induce.storage.checkpoint import RunFacts
from induce.structures import Structure
from treebank.base.arguments import check_count, ignore
from treebank.base.errors import SynparseError, TreebankError
from treebank.core.dependency import Heads
from treebank.core.sentence import UNSPACED, Sentence, Words, each_sentence, script_of
from treebank.core.tree import Tree
from treebank.io.read import DEFAULT_INPUT, InputOptions
from treebank.io.source import STANDARD_INPUT

FIRST_BLOCK, LARGEST_BLOCK = 16, 2048  # sentences read before the first trees come out, and at most at a time
ROOT_COUNTED = {"root": "counted"}  # option of decoders of head distributions
MAX_WORDS = 5_000  # at the beginning of a text, which are checked
MIN_WORDS = 10  # of a text, before the share of unknown words is judged
MIN_SENTENCES = 3  # of a text, before attached punctuation is judged
MAX_UNKNOWN_SHARE = 0.6
MIN_FEW_WORDS, FEW_UNKNOWN_SHARE = 4, 0.8  # words per sentence, and share, in a text of fewer words
MIN_SCRIPT_SHARE = 0.005  # of the letters of a vocabulary, for scripts that it contains
MAX_UNSPACED_LETTERS = 6  # mean length of words in a script without spaces, above which they are not segmented
FINAL_MARKS = ".!?"
Item = TypeVar("Item")
Result = TypeVar("Result")
Report = Callable[[str], None]
Finish = Callable[[Reading, Any], Result]  # of the structure of a sentence, and its brackets or heads


def block_after(size: int) -> int:
    """Size of the block of sentences after a block of ``size``."""
    return min(8 * size, LARGEST_BLOCK)


def block_of(number: int, size: int = FIRST_BLOCK, largest: int = LARGEST_BLOCK) -> tuple[int, int]:
    """Number of sentences before the block that contains sentence ``number``, and the size of this block.

    Sentences are counted from 0. The first block has ``size`` sentences, and no block has more than ``largest``.
    """
    before, size = 0, min(size, largest)
    while size < largest and number >= before + size:
        before, size = before + size, min(block_after(size), largest)
    return before + (number - before) // size * size, size


@dataclass(frozen=True)
class PredictOptions:
    """Options of one pass over sentences.

    ``on_refused`` is called with the error of each sentence that is too long for the model or the memory, which gets no
    structure; without it, the first such error is raised. ``report`` replaces that of the parser.
    """

    first_block: int = FIRST_BLOCK  # sentences
    trees: int = 1  # of each sentence, if the decoder reads the most probable trees of the model
    on_refused: Callable[[TreebankError], None] | None = None
    report: Report | None = None


DEFAULT_PREDICTION = PredictOptions()


class ReadHeads(NamedTuple):
    """The heads of a sentence: the words, their heads, and the confidence in each head (None where not defined)."""

    words: Sequence[str]
    heads: Heads
    confidences: Confidences


class Parser:
    """A parser that decodes trees or heads from the structures that ``predict_block`` gives.

    A sentence is a string, whose words are separated by white space, a list of words, or a `Sentence`. ``report`` is
    called with messages about the text.
    """

    name: str  # of the model, for scores
    output: registry.Output  # "trees" or "heads"
    token: str = "word"  # type of the leaves of its trees: "word" or "character"
    gives: tuple[type[Structure], ...]  # structures that it can give
    purpose: str = ""  # of the model, if it is not parsing
    device: str = "cpu"
    layer: int | None = None
    distances: str | None = None
    facts: RunFacts | None = None  # of the training run
    learned_from: str = ""  # trees or heads that it was trained with, for signatures
    confidence: Sequence[tuple[float, float]] = ()  # score of a phrase -> confidence (`induce.parsing.reading`)
    head_style: str = ""  # "content" or "function" if the heads are meant to be such words
    tokenization: str = ""  # rule that split the training corpus, if one did
    estimates_root = False  # whether the diagonal of head distributions is P(word is the root)
    joining: frozenset[str] = frozenset()  # marks that join words, such as hyphens, for priors
    right_probability = 0.5  # that the language branches to the right, for priors
    branches_right = False  # whether the language clearly branches to the right, for the default decoder
    largest_block = LARGEST_BLOCK
    processes = 1  # number of processes that parse a large text
    report: Report = staticmethod(ignore)

    def __call__(self, sentences: Iterable[Words]) -> Iterator[Any]:
        """The trees, or the words and heads, of ``sentences``. One string is one sentence."""
        return self.parse(sentences) if self.output == "trees" else self.parse_heads(sentences)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.decoded}, gives {self.output}>"

    @property
    def decoded(self) -> str:
        """The part of a signature that names the model and the way its trees are decoded."""
        return f"model:{self.name}|decoder:{self.decoder}{self._stated_style}"

    @property
    def _stated_style(self) -> str:
        return f"|head-style:{self.head_style}" if self.head_style and self.output == "heads" else ""

    @property
    def priors(self) -> object:
        """The priors, which ``str`` lists, or "" if they are part of the digest."""
        return ""

    @property
    def digest(self) -> str:
        """The SHA-256 of everything that decides the trees besides options: the weights, or the members."""
        raise NotImplementedError

    def predict(self, sentences: Iterable[Words], options: PredictOptions = DEFAULT_PREDICTION) -> Iterator[Reading]:
        """The structure of each sentence, in order. Blocks of sentences grow, so that output starts early."""
        for block in self.blocks(sentences, options):
            readings, problem = until_error(self.predict_block(block, options))
            yield from readings
            if problem:
                raise problem

    def blocks(self, sentences: Iterable[Words], options: PredictOptions) -> Iterator[list[Sentence]]:
        """The sentences in blocks, which are large if all sentences are in memory already.

        An error in reading a sentence is raised after the sentences before it.
        """
        source, problem = each_sentence(sentences), None
        size = LARGEST_BLOCK if isinstance(sentences, list) else options.first_block
        while not problem:
            size = min(size, self.largest_block)
            block, problem = until_failure(_available(islice(source, size)))
            if not block and not problem:
                return
            yield block
            size = block_after(size)
        raise problem

    def predict_block(self, block: Sequence[Sentence], options: PredictOptions) -> Sequence[Reading | SynparseError]:
        """The structure of each sentence of a list, or the error of a sentence that has none."""
        raise NotImplementedError

    def choose_decoder(self, decoder: str) -> None:
        """Select a decoder, or the default for "". Raises SynparseError if the model does not return what it reads."""
        fitting = specification.fitting_decoder(
            self.name, self.gives, decoder, purpose=self.purpose, branches_right=self.branches_right
        )
        self.decoder = specification.with_defaults(fitting, ROOT_COUNTED if self.estimates_root else {})
        self.decode = specification.decoder(self.decoder)
        entry = specification.decoder_entry(self.decoder)
        self.structure, self.output = entry.reads, entry.gives

    def parse(self, sentences: Iterable[Words], options: PredictOptions = DEFAULT_PREDICTION) -> Iterator[Tree]:
        """One tree over all the words of each sentence, in order. An empty sentence gives an empty tree.

        Raises SynparseError if the decoder gives heads.
        """
        self.must_give("trees", "parse_heads")
        return self.decode_all(sentences, Reading.all_words, options)

    def parse_confident(
        self,
        sentences: Iterable[Words],
        min_confidence: float = -math.inf,
        options: PredictOptions = DEFAULT_PREDICTION,
    ) -> Iterator[ConfidentTree]:
        """Trees as of ``parse``, with the confidence in each bracket.

        Phrases with less than ``min_confidence`` are left out, so that their parts join the phrase above.
        """
        self.must_give("trees", "parse_heads")
        points = self.confidence

        def finish(reading: Reading, spans: Any) -> ConfidentTree:
            return reading.confident_tree(spans, min_confidence, points)

        return self.decode_all(sentences, finish, options)

    def parse_heads(
        self, sentences: Iterable[Words], options: PredictOptions = DEFAULT_PREDICTION
    ) -> Iterator[tuple[Sequence[str], Heads]]:
        """The words and their heads, in order, as ``parse`` does. Raises SynparseError if the decoder gives trees."""
        self.must_give("heads", "parse")
        return ((words, heads) for words, heads, _ in self.parse_confident_heads(sentences, options))

    def parse_confident_heads(
        self, sentences: Iterable[Words], options: PredictOptions = DEFAULT_PREDICTION
    ) -> Iterator[ReadHeads]:
        """The words, heads and confidences of each sentence, as ``parse_heads`` does."""
        self.must_give("heads", "parse")

        def finish(reading: Reading, heads: Heads) -> ReadHeads:
            return ReadHeads(reading.leaves, reading.all_heads(heads), reading.head_confidences(heads))

        return self.decode_all(sentences, finish, options)

    def decode_all(
        self, sentences: Iterable[Words], finish: Finish[Result], options: PredictOptions
    ) -> Iterator[Result]:
        """``finish`` of the structure of each sentence and its brackets or heads, in order.

        It is called in the process that parses the sentence.
        """
        decode = partial(self.decode_block, finish=finish, options=options)
        return chain.from_iterable(map(decode, self.blocks(sentences, options)))

    def decode_block(
        self, block: Sequence[Sentence], finish: Finish[Result], options: PredictOptions
    ) -> Iterator[Result]:
        """``finish`` of each sentence of a block, whose structures are decoded together.

        The error of a sentence is raised after the sentences before it.
        """
        readings, problem = until_error(self.predict_block(block, options))
        decode = specification.decoder_together(self.decoder)
        yield from map(finish, readings, decode([reading.scores for reading in readings]))
        if problem:
            raise problem

    def parse_k_best(
        self, sentences: Iterable[Words], k: int, options: PredictOptions = DEFAULT_PREDICTION
    ) -> Iterator[list[ScoredTree]]:
        """The ``k`` best trees of each sentence with their scores, best first, or fewer if there are not so many.

        The score of span scores is their sum over the brackets of the tree, that of a grammar the log probability of
        the tree in nats. Raises SynparseError if the decoder finds one tree only, and if ``k`` is less than 1.
        """
        check_count("k", k, low=1)
        self.must_give("trees", "parse_k_best_heads")
        best = specification.k_best_decoder(self.decoder, self.gives)
        readings = self.predict(sentences, replace(options, trees=k))
        return (reading.ranked_trees(lambda row: best(row, k)) for reading in readings)

    def parse_k_best_heads(
        self, sentences: Iterable[Words], k: int, options: PredictOptions = DEFAULT_PREDICTION
    ) -> Iterator[tuple[Sequence[str], list[ScoredHeads]]]:
        """The words and the heads of the ``k`` best trees of each sentence, as ``parse_k_best`` does."""
        check_count("k", k, low=1)
        self.must_give("heads", "parse_k_best")
        best = specification.k_best_decoder(self.decoder, self.gives)
        readings = self.predict(sentences, replace(options, trees=k))
        return ((reading.leaves, reading.ranked_heads(lambda row: best(row, k))) for reading in readings)

    def input_options(self, options: InputOptions = DEFAULT_INPUT) -> InputOptions:
        """Input options for text for this model: ``options``, with the tokenizer of the training corpus by default.

        Raises SynparseError if the package of that rule is missing.
        """
        return with_rule(options, [self.tokenization], [self.purpose])

    def choose_structure(self, structure: str) -> None:
        """Select the default decoder of the structure with this name, unless the decoder reads it already.

        Raises SynparseError if the model does not give it.
        """
        if structure == self.structure.name:
            return
        kind = next((type_ for type_ in self.gives if type_.name == structure), None)
        if kind is None:
            names = " or ".join(type_.name for type_ in self.gives)
            problem = f"the decoder {self.decoder!r} reads {self.structure.name}, not {structure}"
            raise SynparseError(f"model {self.name!r}: {problem} (try --what {names})")
        self.choose_decoder(specification.decoders_of((kind,))[0])

    def must_support(self, output: registry.Output) -> None:
        """Raises SynparseError if the decoder does not give ``output`` with confidences of its brackets or arcs."""
        if not self.output == self.structure.supports == output:
            part = "phrases" if output == "trees" else "arcs"
            able = [
                name
                for name in specification.decoders_of(self.gives, output)
                if specification.decoder_entry(name).reads.supports == output
            ]
            hint = f" (try --decoder {able[0]})" if able else ""
            problem = f"{self.structure.name} have no confidence in {part}"
            raise SynparseError(f"model {self.name!r}: decoder {self.decoder!r}: {problem}{hint}")

    def must_give(self, output: registry.Output, instead: str) -> None:
        """Raises SynparseError, naming what to do ``instead``, if the decoder does not give ``output``."""
        if self.output != output:
            fitting = [f"decoder {name!r}" for name in specification.decoders_of(self.gives, output)]
            hint = " or ".join([instead, *fitting[:1]])
            hint += ", or train a model with --heads" if output == "heads" and not fitting else ""
            problem = f"the decoder {self.decoder!r} gives {self.output}, not {output}"
            raise SynparseError(f"model {self.name!r}: {problem} (try {hint})")


def with_rule(options: InputOptions, rules: Iterable[str | None], purposes: Iterable[str] = ()) -> InputOptions:
    """``options`` for reading text, by default with the tokenization rule of the models' training corpora.

    ``rules`` are those of models that read the same text, empty or None for models of tokenized text and for systems
    that read none: these read what the rule gives. A model with another of the ``purposes`` than parsing, "", reads
    expressions, such as those in square brackets. Raises SynparseError if two models have different rules.
    """
    options = replace(options, symbols=options.symbols or any(purposes))
    different = sorted(set(filter(None, rules)))
    if options.tokenize or not different:
        return options
    if len(different) > 1:
        raise SynparseError(
            f"these models split raw text by different tokenizers ({', '.join(different)}); choose one with --tokenizer"
        )
    return replace(options, tokenize=different[0])


def until_failure(items: Iterable[Item]) -> tuple[list[Item], Exception | None]:
    """The items up to the first error in reading them, and this error or None, so that none of them is lost."""
    block: list[Item] = []
    try:
        for item in items:
            block.append(item)  # `extend` would lose the items before an error
    except Exception as error:
        return block, error
    return block, None


def until_error(readings: Iterable[Reading | SynparseError]) -> tuple[list[Reading], SynparseError | None]:
    """The structures up to the first error among them, and this error or None."""
    before: list[Reading] = []
    for reading in readings:
        if isinstance(reading, SynparseError):
            return before, reading
        before.append(reading)
    return before, None


def _available(source: Iterable[Item]) -> Iterator[Item]:
    """The items up to a pause in standard input, so that the items before the pause can be parsed."""
    for item in source:
        yield item
        if STANDARD_INPUT.is_idle():
            return


class TextCheck:
    """Counts of the words of a text, and the first problem that they show."""

    def __init__(self, vocabulary: Vocabulary, token: str) -> None:
        self.vocabulary, self.token = vocabulary, token
        self.finished = False
        self._words = self._unknown = self._sentences = self._attached = 0
        self._characters: Counter[str] = Counter()

    def add(self, words: Sequence[str], forms: Sequence[str]) -> None:
        """Count a sentence with its ``words`` and the normalized ``forms`` that the model reads."""
        if self._words > MAX_WORDS:
            return
        self._words += len(forms)
        self._unknown += sum(not self.vocabulary.knows(form) for form in forms)
        self._characters.update("".join(words))
        if words:
            self._sentences += 1
            end = words[-1]
            self._attached += end[-1] in FINAL_MARKS and end[:-1].isalpha() and not self.vocabulary.knows(end)

    def problem(self) -> str:
        """The first problem so far, or "". The check is finished after a problem and after `MAX_WORDS`."""
        text, scripts = "", _scripts(self._characters)
        letters = scripts.total()
        new = {script: count for script, count in scripts.items() if script not in self._known_scripts}
        if sum(new.values()) * 2 > letters:
            script = max(new, key=new.__getitem__)
            name = "Chinese" if script == "CJK" else script.capitalize()
            text = f"most letters are {name}, a script that is not in the vocabulary of the model"
            if self.token == "word" and script in UNSPACED and letters > MAX_UNSPACED_LETTERS * self._words:
                text += "; the text is not split into words, which --tokenizer does"
        elif self.token == "word" and self._sentences >= MIN_SENTENCES and self._attached * 2 > self._sentences:
            text = "punctuation is not separated from words; --tokenizer splits raw text into words"
        elif self._has_unknown_words:
            share = self._unknown / self._words
            text = f"{share:.0%} of the {self.token}s are unknown to the model; its trees say little about this text"
        self.finished = bool(text) or self._words > MAX_WORDS
        return text

    @property
    def _has_unknown_words(self) -> bool:
        """Whether most words are unknown. Of few words, nearly all must be."""
        if self._words < MIN_WORDS:
            is_long = self._words >= MIN_FEW_WORDS * max(1, self._sentences)  # one-word lines have no trees
            return is_long and self._unknown >= FEW_UNKNOWN_SHARE * self._words
        return self._unknown > MAX_UNKNOWN_SHARE * self._words

    @cached_property
    def _known_scripts(self) -> frozenset[str]:
        entries = [entry.partition("\t")[2] or entry for entry in self.vocabulary.words if entry[0] != "<"]
        scripts = _scripts(Counter("".join(entries)))
        return frozenset(name for name, count in scripts.items() if count >= MIN_SCRIPT_SHARE * scripts.total())


def _scripts(characters: Counter[str]) -> Counter[str]:
    """Number of letters of each script, in the order of their first occurrence."""
    scripts: Counter[str] = Counter()
    for character, count in characters.items():
        if script := script_of(character):
            scripts[script] += count
    return scripts
