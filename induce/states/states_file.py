"""Files of hidden states, attention and impacts of sentences (.npz), written by any program or by `synparse extract`.

A file has arrays ``s0/…`` for the first sentence, ``s1/…`` for the second, and so on; other arrays are ignored:

- ``words`` (N): the words; without it, they are named w0, w1, …
- ``indices`` (M): indices of the M words that have states, if not all have; N is M in the following arrays,
- ``hidden`` (L, P, D): the hidden states of each layer,
- ``attention`` (L, H, P, P): the attention of each layer and head, from query (row) to key (column),
- ``word_of_piece`` (P): index of the word of each word piece, -1 for a piece without a word; without it, P = N,
- ``impact`` (N, N): perturbed masking, or ``masked`` (N, N, D): states of word i if the words i and j are masked.
"""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import IO

import numpy as np

from induce.decoding.hidden_states import SPECIAL, Array, impact_of_states, merge_attention, merge_hidden
from treebank.base.errors import SynparseError
from treebank.io.jsonl import NEVER_IN_WORDS

KEY = re.compile(r"s(0|[1-9][0-9]{0,8})/([a-z_]+)")
OF_SENTENCE = re.compile(r"s\d+/")  # also numbers in other digits or with zeros before them
MAX_UNUSUAL_BYTES, MAX_RATIO = 1 << 26, 100  # larger arrays that are compressed more than this are refused
MAX_CODE_POINT = 0x10FFFF
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
DIMENSIONS = {"hidden": 3, "attention": 4, "word_of_piece": 1, "impact": 2, "masked": 3, "words": 1, "indices": 1}


@dataclass(frozen=True, eq=False)
class SentenceStates:
    """Hidden states (L, N, D), attention (L, H, N, N) and impact (N, N) of words of a sentence, or None.

    ``indices`` are those of the N words that have states.
    """

    words: Sequence[str]
    indices: Sequence[int]
    hidden: Array | None = None
    attention: Array | None = None
    impact: Array | None = None

    @property
    def sizes(self) -> tuple[str, ...]:
        """The arrays with their numbers of layers and heads."""
        parts = [] if self.hidden is None else [f"hidden states of {len(self.hidden)} layers"]
        if self.attention is not None:
            layers, heads = self.attention.shape[:2]
            parts.append(f"attention of {layers} layers with {heads} heads")
        return (*parts, *["impact"] * (self.impact is not None))


class StatesFile:
    """A file of states, which is read sentence by sentence. Raises SynparseError if it is not valid."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            self._archive = zipfile.ZipFile(self.path)
        except (ValueError, EOFError, zipfile.BadZipFile):
            raise SynparseError(f"{self.path}: not a file of numpy arrays; write one with numpy.savez (.npz)") from None
        # numpy.load searches all names for each array, which is quadratic in older versions
        self._entries = {entry.filename.removesuffix(".npy"): entry for entry in self._archive.infolist()}
        numbers = {int(match[1]) for match in map(self._key, self._entries) if match}
        self.count = len(numbers)
        missing = next((number for number in range(self.count) if number not in numbers), None)
        if missing is not None or not numbers:
            expected = ", ".join(f"s{missing or 0}/{name}" for name in DIMENSIONS)
            raise SynparseError(f"{self.path}: sentence {missing or 0} is missing; expected arrays such as {expected}")

    def _key(self, name: str) -> re.Match[str] | None:
        """The parts of the name of an array of a sentence, or None for another array.

        Raises SynparseError for a name with one wrong character or digit, because the array would be overlooked.
        """
        match = KEY.fullmatch(name)
        if match and match[2] in DIMENSIONS:
            return match
        kind = name.partition("/")[2] if OF_SENTENCE.match(name) else ""
        for known in DIMENSIONS:
            differing = [first for first, second in zip(kind, known, strict=False) if first != second]
            if len(kind) == len(known) and len(differing) < 2:
                raise SynparseError(f"{self.path}: unknown array {name!r}; write s0/{known}, s1/{known} and so on")
        return None

    def __iter__(self) -> Iterator[SentenceStates]:
        """The states of each sentence, merged to words. Raises SynparseError with the sentence and the problem."""
        expected: tuple[str, ...] = ()
        for number in range(self.count):
            try:
                states = self._sentence(number)
                expected = expected or states.sizes
                if states.indices and states.sizes != expected:
                    has, should = ", ".join(states.sizes) or "no arrays", ", ".join(expected)
                    raise ValueError(f"it has {has}; the first sentence has {should}")
            except (ValueError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError) as error:
                raise SynparseError(f"{self.path}: sentence s{number}: {error}") from None
            yield states

    def _sentence(self, number: int) -> SentenceStates:
        """The sentence with this number. Raises ValueError if its arrays do not fit together."""
        values = {name: self._array(number, name) for name in DIMENSIONS if f"s{number}/{name}" in self._entries}
        hidden, attention = values.get("hidden"), values.get("attention")
        pieces = {
            array.shape[axis] for array, axis in ((hidden, 1), (attention, 2), (attention, 3)) if array is not None
        }
        if len(pieces) > 1:
            raise ValueError(f"hidden states and attention have different numbers of word pieces: {sorted(pieces)}")
        word_of_piece = values.get("word_of_piece")
        if word_of_piece is None:
            word_of_piece = np.arange(pieces.pop() if pieces else 0)
        elif pieces and len(word_of_piece) not in pieces:
            raise ValueError(f"word_of_piece has {len(word_of_piece)} entries for {pieces.pop()} word pieces")
        impact = values.get("impact")
        if impact is None and (masked := values.get("masked")) is not None:
            if masked.shape[0] != masked.shape[1]:
                raise ValueError(f"masked has the shape {masked.shape}; the first two axes are words")
            impact = impact_of_states(masked)
        largest, present = int(word_of_piece.max(initial=SPECIAL)), set(word_of_piece.tolist())
        if largest >= len(present) or len(present - {SPECIAL}) <= largest or word_of_piece.min(initial=0) < SPECIAL:
            raise ValueError("word_of_piece must contain each word index from 0, and -1 for pieces without a word")
        counts = {largest + 1} if hidden is not None or attention is not None else set()
        counts |= {len(impact)} if impact is not None else set()
        words = values["words"].tolist() if "words" in values else [f"w{i}" for i in range(max(counts, default=0))]
        indices = values["indices"].tolist() if "indices" in values else list(range(len(words)))
        if any(second <= first for first, second in pairwise([-1, *indices, len(words)])):
            raise ValueError("indices must be indices of words in ascending order")
        if counts | {len(indices)} != {len(indices)}:
            raise ValueError(f"the arrays have different numbers of words: {sorted(counts | {len(indices)})}")
        return SentenceStates(
            words,
            indices,
            None if hidden is None else merge_hidden(hidden, word_of_piece),
            None if attention is None else merge_attention(attention, word_of_piece),
            impact,
        )

    def _stored(self, number: int, name: str) -> Array:
        """One array as it is stored. Raises ValueError before it takes memory that its bytes do not justify."""
        entry = self._entries[f"s{number}/{name}"]
        if entry.file_size > max(MAX_UNUSUAL_BYTES, MAX_RATIO * entry.compress_size):
            problem = f"{name} would have {entry.file_size:,} bytes, from {entry.compress_size:,} compressed ones"
            raise ValueError(f"{problem}; store it without compression if it is right")
        with self._archive.open(entry) as stream:
            version = np.lib.format.read_magic(stream)
            if version not in HEADERS:
                raise ValueError(f"{name} has an unknown version of the format of numpy; write it with numpy.savez")
            shape, _, kind = HEADERS[version](stream)
            if prod(shape) * kind.itemsize > entry.file_size:
                raise ValueError(f"{name} has fewer bytes than its shape {shape} needs")
            stream.seek(0)
            array: Array = np.lib.format.read_array(stream, allow_pickle=False)
        return array

    def _array(self, number: int, name: str) -> Array:
        """One array, checked by itself."""
        array = self._stored(number, name)
        if array.ndim != DIMENSIONS[name]:
            raise ValueError(f"{name} has {array.ndim} axes; expected {DIMENSIONS[name]}")
        if name == "words":
            code_point = np.dtype(np.uint32).newbyteorder(array.dtype.byteorder)
            is_text = array.dtype.kind == "U" and (np.frombuffer(array.tobytes(), code_point) <= MAX_CODE_POINT).all()
            if not is_text or any(not word or NEVER_IN_WORDS.search(word) for word in array.tolist()):
                raise ValueError("words must be an array of strings without spaces, tabs, line ends and NUL")
            return array
        if name in ("word_of_piece", "indices"):
            return array.astype(np.int64, casting="safe")
        array = array.astype(float, casting="same_kind")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} contains a number that is not finite")
        if name == "attention" and (array < 0).any():
            raise ValueError("attention contains a negative number; store the weights after the softmax")
        return array


def write_states(stream: IO[bytes], sentences: Iterable[SentenceStates]) -> None:
    """Write the states of sentences, one array at a time, so that memory use stays constant."""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, sentence in enumerate(sentences):
            parts = {"hidden": sentence.hidden, "attention": sentence.attention, "impact": sentence.impact}
            parts["words"] = np.array(sentence.words, dtype=np.str_) if sentence.words else np.zeros(0, "<U1")
            if len(sentence.indices) < len(sentence.words):
                parts["indices"] = np.array(sentence.indices, dtype=np.int64)
            for name, array in parts.items():
                if array is not None:
                    entry = zipfile.ZipInfo(f"s{number}/{name}.npy")  # with a fixed date
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    with archive.open(entry, "w", force_zip64=True) as target:
                        np.lib.format.write_array(target, array, allow_pickle=False)
