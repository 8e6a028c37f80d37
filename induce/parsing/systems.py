"""Systems for evaluation from model folders, with one parser for each model, and trees over their raw text."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain
from typing import Any

from induce.data.vocabulary import Normalized
from induce.parsing.load import load_parser
from induce.parsing.model_parser import ModelParser
from induce.parsing.parser import Parser
from induce.storage.locate import expand_arguments, expand_models, is_model, parse_model_spec, system_name
from treebank.base.errors import SynparseError
from treebank.core.baselines import BASELINES, HEAD_BASELINES
from treebank.core.dependency import restore
from treebank.core.sentence import Sentence, Surface, Treebank
from treebank.core.tree import Tree
from treebank.evaluate.evaluate import Evaluation, EvaluationPlan, evaluate
from treebank.evaluate.systems import (
    Predict,
    System,
    SystemInfo,
    baseline,
    given_gold,
    given_trees,
    parser_system,
    tree_predictions,
)
from treebank.io.text import split_words
from treebank.tokenize import tokenization

Watched = Callable[[str, Iterable[Any], int], Iterable[Any]]


def load_systems(
    groups: Mapping[str, Sequence[str]],
    *,
    device: str = "auto",
    decoder: str | None = None,
    priors: str | None = None,
    report: Callable[[str], None] | None = None,
    watched: Watched | None = None,
) -> list[System]:
    """Systems for the models in the folders of ``groups``, which parse when they are scored.

    A system is named after its folder. ``report`` is called with a message
    about sentences for which a member of an ensemble has no vote. ``watched`` is called with the name of a system, its
    iterator of predictions and the number of sentences, and returns the predictions unchanged. Trees of character
    models, and of models that split text into characters, are scored over characters. Raises SynparseError for heads
    over characters.
    """
    folders = dict.fromkeys(folder for group in groups.values() for folder in group)
    if not folders:
        return []
    systems = []
    for folder in folders:
        parser = load_parser(folder, device=device, decoder=decoder, priors=priors, report=report)
        system = system_of(parser, folder)
        if system.kind == "trees" and parser.tokenization == "characters":
            system = replace(system, characters=True)
        systems.append(with_progress(system, watched) if watched else system)
    return systems


def with_progress(system: System, watched: Watched) -> System:
    """System with ``watched`` around its calls of the parser."""

    def counted(predict: Predict | None) -> Predict | None:
        return predict and (lambda sentences: list(watched(system.name, predict(sentences), len(sentences))))

    return replace(system, predict=counted(system.predict), predict_text=counted(system.predict_text))


def system_of(parser: Parser, folder: str) -> System:
    """System for the parser of a folder, named after the folder.

    Raises SynparseError for heads over characters, because the heads of a treebank are over words.
    """
    if parser.output == "heads":
        check_words(folder, parser)
    name = system_name(parser.name, folder)
    system = parser_system(parser, SystemInfo(name, None, folder, parser.learned_from, parser.decoded))
    if system.kind == "heads" or not isinstance(parser, ModelParser):
        return system
    if parser.token == "word" and not parser.tokenization:
        return system
    return replace(
        system, predict_text=tree_predictions(name, partial(parse_text, parser)), characters=parser.token == "character"
    )


def check_words(folder: str, parser: Parser) -> None:
    """Raise SynparseError if the model reads characters, because its trees cannot be compared with trees over words."""
    if parser.token != "word":
        problem = f"{folder}: the trees of this model are over {parser.token}s, and those of the treebank over words"
        raise SynparseError(f"{problem}; to score trees, train with data.token=word")


def evaluate_systems(gold: Any, systems: Sequence[Any], **options: Any) -> Evaluation:
    """Scores of ``systems`` on ``gold``.

    ``options`` are fields of `EvaluationPlan`. ``gold`` is the name or path of a treebank, a `Treebank` or a list of
    trees. A system is a parser, the path of a model folder, of a file of trees or heads or of parsed text, the name of
    a baseline, a list of trees, or a dictionary of these by the name that they have in tables. A pattern or a list of
    model folders is a family of seeds. Raises SynparseError if a system is none of these.
    """
    pairs = [pair for item in systems for pair in (item.items() if isinstance(item, Mapping) else [("", item)])]
    if not isinstance(gold, str | os.PathLike | Treebank):
        gold = given_gold(gold)
    paths = [(name, os.fspath(system)) for name, system in pairs if isinstance(system, str | os.PathLike)]
    names = [f"{name}={path}" if name else path for name, path in paths]
    baselines = [name for name in names if name in BASELINES or name in HEAD_BASELINES]
    if renamed := next((path for name, path in paths if name and (path in BASELINES or path in HEAD_BASELINES)), ""):
        raise SynparseError(f"baseline {renamed!r} has its own name in tables; leave out the other one")
    more_files, more_baselines = options.pop("predicted", ()), options.pop("baselines", ())
    folders = [name for name in names if name not in baselines and are_models(name)]
    files = [name for name in names if name not in baselines and name not in folders]
    for name in files:
        if not (os.path.lexists(name) or os.path.splitext(name)[1] or os.sep in name):
            baseline(name)  # suggests the nearest name
    families = [pair for pair in pairs if _is_family(pair[1])]
    others = [pair for pair in pairs if not (isinstance(pair[1], str | os.PathLike) or _is_family(pair[1]))]
    models = []
    for number, (name, system) in enumerate(others, start=1):
        if isinstance(system, Parser):
            info = SystemInfo(name or system.name, learned_from=system.learned_from, decoded=system.decoded)
            models.append(parser_system(system, info))
        elif isinstance(system, Iterable):
            models.append(given_trees(name or f"trees {number}", system))
        else:
            kinds = "a parser, a path, the name of a baseline or a list of trees"
            raise SynparseError(f"system {number} is not {kinds}: {system!r}")
    groups = expand_models(folders)
    for name, family in families:
        members = list(map(os.fspath, family))
        if name in groups:
            raise SynparseError(f"two systems are called {name!r}; give them different names")
        labeled = [f"{name} {os.path.basename(path)}={path}" for path in members]
        groups |= {name: labeled} if name else expand_arguments(members[:1], members[1:])
    models += load_systems(groups)
    plan = EvaluationPlan(
        gold=gold if isinstance(gold, Treebank) else os.fspath(gold),
        predicted=[*files, *more_files],
        baselines=[*baselines, *more_baselines],
        **options,
    )
    return evaluate(plan, models, groups)


def are_models(name: str) -> bool:
    """Whether a specification names a model, or is a pattern that a model matches."""
    return is_model(name) or any(map(is_model, glob.glob(parse_model_spec(name).path)))


def _is_family(system: Any) -> bool:
    """Whether a system is a list of model folders: paths, or strings without a bracket that name a model."""
    items = system if isinstance(system, list | tuple) else ()
    names = [item for item in items if isinstance(item, str) and not item.lstrip().startswith("(")]
    return any(isinstance(item, os.PathLike) for item in items) or any(map(is_model, names))


def parse_text(parser: ModelParser, sentences: Iterable[Sentence]) -> Iterator[Tree]:
    """Trees over the ``surface`` of each sentence, whose leaves spell all of it except for spaces.

    The leaves are characters for a character model, otherwise the words by the tokenization rule of the training text.
    """
    texts = [sentence.surface.text if sentence.surface else " ".join(sentence.words) for sentence in sentences]
    if parser.token == "word":
        yield from parser.parse([_cut(text, parser.tokenization) for text in texts])
        return
    word_sentences = [Sentence(split_words(text)) for text in texts]
    for sentence, tree in zip(word_sentences, parser.parse(word_sentences), strict=True):
        yield as_written(tree, sentence.words, parser.recipe(sentence.words))


def _cut(text: str, rule: str) -> Sentence:
    """Words of a text as one sentence, even if the tokenization rule would split it into several."""
    surfaces = list(tokenization(rule).surfaces(text))
    spans = [(surface.offset + start, surface.offset + end) for surface in surfaces for start, end in surface.spans]
    words = tuple(text[start:end] for start, end in spans)
    return Sentence(words, surface=Surface(text, tuple(spans)))


def as_written(tree: Tree, words: tuple[str, ...], normalized: Normalized) -> Tree:
    """Tree over the characters of ``words``, from a ``tree`` over the characters of the normalized words.

    Characters are aligned from the left, and the last one of a normalized word with the rest of the word: a bracket
    around ``0`` becomes one around ``1996``. The characters of words that the recipe dropped are restored.
    """
    kept_words = [words[index] for index in normalized.indices]
    starts = list(accumulate(map(len, kept_words), initial=0))
    begins, ends = list[int](), list[int]()
    for start, form, word in zip(starts, normalized.forms, kept_words, strict=False):
        for index in range(len(form)):
            begins.append(start + min(index, len(word)))
            ends.append(start + (len(word) if index == len(form) - 1 else min(index + 1, len(word))))
    spans = [(begins[start], ends[end - 1]) for start, end in tree.spans]
    over_kept = Tree.from_spans(tuple(chain.from_iterable(kept_words)), [span for span in spans if span[0] < span[1]])
    offsets = list(accumulate(map(len, words), initial=0))
    kept_offsets = [offset for index in normalized.indices for offset in range(offsets[index], offsets[index + 1])]
    return restore(over_kept, tuple(chain.from_iterable(words)), kept_offsets)
