"""Output of a model for one sentence, and its conversion to a tree, to heads and to a line of JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from induce.data.tokens import SPACE
from induce.decoding.specification import decoder, decoder_entry, decoders_of
from induce.registry import DECODERS
from induce.structures import Brackets, Structure
from treebank.core.dependency import Heads, delete
from treebank.core.restore import restore, restore_heads
from treebank.core.tree import Tree
from treebank.io.jsonl import words_and_indices

Decode = Callable[[Any], Any]
ADJUSTED = "with_priors"  # key of the scores after the priors, which the decoder reads


@dataclass(frozen=True, slots=True)
class Reading:
    """Words of a sentence, ``indices`` of the words that the model read, and the row of a structure over them.

    ``row`` is the output of the model. ``adjusted`` is the row after the priors,
    or None if they change nothing. The words of a character model (``token``) are characters, including spaces, which
    are not leaves of its trees.
    """

    words: Sequence[str]
    indices: Sequence[int]
    structure: type[Structure]
    row: Any
    adjusted: Any = None
    token: str = "word"

    @property
    def scores(self) -> Any:
        """Row that the decoder reads: ``adjusted``, or ``row`` if there is none."""
        return self.row if self.adjusted is None else self.adjusted

    @property
    def leaves(self) -> Sequence[str]:
        """Words of the tree."""
        return self.words if self.token == "word" else tuple(word for word in self.words if word != SPACE)

    def _is_leaf(self) -> list[bool]:
        return [self.token == "word" or word != SPACE for word in self.words]

    def tree(self, decode: Decode) -> Tree:
        """Tree over all words: decoded over the words that the model read, with the others restored."""
        return self._tree(decode(self.scores))

    def sure_tree(self, decode: Decode) -> tuple[Tree, float | None]:
        """Tree and confidence of the model in it, or None if the structure has no confidence."""
        spans = decode(self.scores)
        return self._tree(spans), self.structure.confidence(self.row, spans)

    def _tree(self, spans: Sequence[tuple[Any, ...]]) -> Tree:
        words = self.words if len(self.indices) == len(self.words) else [self.words[index] for index in self.indices]
        tree = tree_of_spans(words, spans)
        tree = tree if words is self.words else restore(tree, self.words, self.indices)
        return tree if self.token == "word" else tree.keep(self._is_leaf()).collapse_unary()

    def heads(self, decode: Decode) -> Heads:
        """Heads of all words: decoded over the words that the model read, with the others restored."""
        return self.all_heads(decode(self.scores))

    def all_heads(self, decoded_heads: Heads) -> Heads:
        """Heads of all words, given the decoded heads of the words that the model read."""
        heads = restore_heads(decoded_heads, self.indices, len(self.words))
        return heads if self.token == "word" else delete(heads, self._is_leaf())

    def to_json(self, decoder_name: str) -> dict[str, Any]:
        """Line of `synparse extract`, with the decoder if it is not the default of `from_json`."""
        line: dict[str, Any] = {"words": list(self.words)}
        if len(self.indices) < len(self.words):
            line["indices"] = list(self.indices)
        if self.token != "word":
            line["token"] = self.token
        line[self.structure.name] = self.structure.to_json(self.row)
        if self.adjusted is not None:
            line[ADJUSTED] = self.structure.to_json(self.adjusted)
        if decoder_name != decoders_of((self.structure,))[0]:
            line["decoder"] = decoder_name
        return line


def tree_of_spans(words: Sequence[str], spans: Sequence[tuple[Any, ...]]) -> Tree:
    """Tree of ``spans``, each ``(start, end)`` or ``(start, end, label)``, with ``X`` as the default label."""
    tree = Tree.from_spans(words, [span[:2] for span in spans])
    labels = {span[:2]: span[2] for span in spans if len(span) > 2}
    if not labels:
        return tree
    named = tuple(labels.get(tuple(span), label) for span, label in zip(tree.spans, tree.labels, strict=True))
    tags = tuple(labels.get((i, i + 1), tag) for i, tag in enumerate(tree.tags))
    return Tree(tree.words, tags, tree.spans, named)


def from_json(line: Mapping[str, Any], chosen: str | None = None) -> tuple[Reading, str]:
    """Reading in an object written by `Reading.to_json`, and the name of its decoder.

    ``chosen`` is the decoder that the user requested; otherwise it is the one that the line names, or the default for
    the structure of the line. Raises ValueError if the object is invalid and SynparseError if the decoder is unknown.
    """
    structures = dict.fromkeys(entry.reads for entry in DECODERS.values())
    available = tuple(structure for structure in structures if structure.name in line)
    if not available:
        raise ValueError(expected())
    named = chosen or line.get("decoder")
    required = decoder_entry(str(named)).reads if named else available[0]
    structure = required if required in available else available[0]
    name = str(named) if named else decoders_of((structure,))[0]
    if required is not structure:
        fitting = decoders_of((structure,))[0]
        raise ValueError(
            f"decoder {name!r} needs {required.name}, and this line has {structure.name} (try {fitting!r})"
        )
    row = structure.from_json(line[structure.name])
    count = structure.words_of(row)
    if structure is Brackets and isinstance(line.get("words"), list):
        count = len(line.get("indices", line["words"]))
        if structure.words_of(row) > count:
            raise ValueError(f"a span ends at {structure.words_of(row)}, but there are {count} words")
    words, word_indices = words_and_indices(dict(line), count, structure.entries)
    adjusted = structure.from_json(line[ADJUSTED]) if line.get(ADJUSTED) is not None else None
    if adjusted is not None and structure.words_of(adjusted) != structure.words_of(row):
        raise ValueError(f'"{ADJUSTED}" has {len(adjusted)} {structure.entries}, "{structure.name}" has {len(row)}')
    token = "character" if line.get("token") == "character" else "word"
    return Reading(words, word_indices, structure, row, adjusted, token=token), name


def expected() -> str:
    """Description of a valid line for `synparse decode`."""
    structures = dict.fromkeys(entry.reads for entry in DECODERS.values())
    return "expected an object with " + ", or with ".join(f'"{entry.name}", {entry.rows_are}' for entry in structures)


def decoded(reading: Reading, name: str) -> Tree | Heads:
    """Tree or heads of ``reading`` by the decoder with this ``name``."""
    decode = decoder(name)
    return reading.tree(decode) if decoder_entry(name).gives == "trees" else reading.heads(decode)
