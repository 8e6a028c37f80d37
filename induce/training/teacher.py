"""Distillation: a run or an ensemble parses the training text, and a model that learns from trees learns from these."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from induce.data.sources import Sources, read_text
from induce.storage.model_spec import is_model
from treebank.base.errors import SynparseError
from treebank.core.sentence import Treebank

if TYPE_CHECKING:
    from induce.parsing.parser import StructureParser

PARSED = "parsed"  # the kind of such trees, in a run's facts


def is_teacher(trees: str | None) -> bool:
    """Whether ``trees`` names a model, which gives the trees to learn from."""
    return bool(trees) and is_model(str(trees))


def taught(sources: Sources, tokenization: str, *, device: str = "auto") -> Treebank:
    """The training text with the trees that the run named by ``sources.trees`` gives it; the note says what that is.

    ``tokenization``: the rule that splits the text, if one does.

    Raises SynparseError if there is no text, or the run gives heads.
    """
    name = str(sources.trees)
    if not sources.text:
        raise SynparseError(f"{name}: this is a model, which parses the text to learn from; name a TEXT, too")
    from induce.parsing.load import load_parser

    parser: StructureParser = load_parser(name, device=device)
    parser.must_give("trees", "a run that gives trees")
    options = replace(sources.input_options, tokenize=tokenization)
    sentences = [one for one in read_text(sources.text, options) if one.words]
    plain = [replace(one, tree=None, heads=(), relations=()) for one in sentences]
    trees = parser.parse(plain)
    learned = getattr(parser, "learned_from", "")
    note = f"by {parser.name}" + (f", which learned from {learned}" if learned else "")
    return Treebank(name, [replace(one, tree=tree) for one, tree in zip(plain, trees, strict=True)], note)
