"""Changed metadata files are refused in one line, or read without an effect on their content.

$SYNPARSE_MUTATIONS is the number of changed values of each file (default 100), $SYNPARSE_SEED their seed.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from induce.data.prepared import ARRAYS, BREAKS, FACTS, FORMAT, IDS, OFFSETS, WORDS, PreparedCorpus, prepare, read_facts
from induce.ensemble.ensemble_description import EnsembleDescription, Member
from induce.family import seeds as family
from induce.family.seeds import StoredFamily
from induce.recipes.recipe import read_recipe
from induce.recipes.recipe_job import RecipeJob
from induce.training.request import RunRequest
from treebank.base.errors import SynparseError
from treebank.base.files import describe_file
from treebank.base.metadata import read_metadata, seal, write_metadata
from treebank.core.sentence import Sentence
from treebank.io.read import BATCH_NOTE, NOTE_FORMAT, BatchNote, parsed_files

MUTATIONS = int(os.environ.get("SYNPARSE_MUTATIONS", "100"))
SEED = os.environ.get("SYNPARSE_SEED", "1")
VALUES = (None, True, -1, 0, 7, 1.5, 1e300, 10**400, 2**64, "", "x", "\ud800", "../x", "\0", [], [1], {}, {"x": 1})


class Stored:
    """A metadata file that is mutated, and the function that reads it."""

    def __init__(self, path: Path, read: Callable[[], Any]) -> None:
        self.path, self.read, self.data = path, read, path.read_bytes()

    def write(self, data: bytes) -> None:
        """Replace the file by ``data``."""
        self.path.write_bytes(data)


def family_file(folder: Path) -> Stored:
    request = RunRequest(text=("a.txt",), settings=("train.epochs=2",))
    write_metadata(folder / "family.json", StoredFamily(request=request, seeds=(1, 2, 7)), family.FORMAT)
    return Stored(folder / "family.json", lambda: read_metadata(folder / "family.json", StoredFamily, family.FORMAT))


def plan_file(folder: Path) -> Stored:
    request = RunRequest(run=str(folder), text=("a.txt",), seed=3)
    job = RecipeJob.open(request, read_recipe("best"), 5.0)
    job.plan.words, job.plan.shares, job.plan.done, job.plan.log = 100, (0.5,), ("first-4",), ("a decision",)
    job.begin()
    resumed = replace(request, resume=True, seed=None)
    return Stored(folder / "plan.json", lambda: RecipeJob.open(resumed, job.plan.recipe, None))


def corpus_file(folder: Path) -> Stored:
    corpus = folder / "corpus"
    prepare([Sentence(("the", "dog", "-", "the", "cat", "saw", "."))] * 4, str(corpus), texts=["a.txt"])
    return Stored(corpus / FACTS, lambda: PreparedCorpus.read(corpus).facts)


def batch_file(folder: Path) -> Stored:
    for name in ("a.trees", "b.trees"):
        (folder / name).touch()
    note = BatchNote(files=("a.trees", "b.trees"), job={"model": "onlstm", "layer": 2, "step": None})
    write_metadata(folder / BATCH_NOTE, note, NOTE_FORMAT)
    return Stored(folder / BATCH_NOTE, lambda: parsed_files(str(folder)))


def ensemble_file(folder: Path) -> Stored:
    members = (Member(path="a.trees", weight=2.0, sha256="0" * 64), Member(path="baseline:right"))
    options = {"output": "trees", "sums": False, "normalization": "words", "decoder": "mbr"}
    EnsembleDescription(members=members, **options).write(folder)  # type: ignore[arg-type]
    return Stored(folder / "ensemble.json", lambda: EnsembleDescription.read(folder))


FILES = [family_file, plan_file, corpus_file, batch_file, ensemble_file]


def positions(value: Any) -> Iterator[tuple[Any, Any]]:
    """All pairs of a container in a JSON value and a key or index in it."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from positions(value[key])


def mutated_values(content: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """``content`` with a value that is changed, removed, added or moved."""
    content = deepcopy(content)
    container, key = rng.choice(list(positions(content)))
    kind = rng.randrange(4)
    if kind == 0:
        del container[key]
    elif kind == 1 and isinstance(container, dict):
        container[rng.choice(["x", "files", "seed"])] = rng.choice(VALUES)
    elif kind == 2:
        other, index = rng.choice(list(positions(content)))
        container[key] = deepcopy(other[index])
    else:
        container[key] = rng.choice(VALUES)
    return content


def read_or_refuse(stored: Stored) -> Any:
    """The content of the file, or None if it is refused in one short line."""
    try:
        return stored.read()
    except SynparseError as error:
        message = str(error)
    assert "\n" not in message
    assert len(message) < 700
    return None


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_changed_bytes_are_refused(tmp_path: Path, make: Callable[[Path], Stored]) -> None:
    stored = make(tmp_path)
    expected, size, results = stored.read(), len(stored.data), []
    for position in range(0, size, max(1, size // 50)):
        stored.write(stored.data[:position] + bytes([stored.data[position] ^ 1]) + stored.data[position + 1 :])
        results.append(read_or_refuse(stored))
        assert results[-1] in (None, expected)
    assert results.count(None) > len(results) / 2


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_wrong_values_with_a_matching_digest_raise_no_traceback(tmp_path: Path, make: Callable[[Path], Stored]) -> None:
    stored, rng = make(tmp_path), random.Random(f"{SEED} {make.__name__}")
    content, refused = json.loads(stored.data), 0
    for _ in range(MUTATIONS):
        stored.write(json.dumps(seal(mutated_values(content, rng))).encode())
        refused += read_or_refuse(stored) is None
    assert refused > MUTATIONS / 4


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"minutes": "x"}, "'minutes' cannot be 'x'"),
        ({"request": {"seed": -1}}, "the seed or the minutes are out of range"),
        ({"shares": [7]}, "a share or the strength of the prior is out of range"),
        ({"words": -9}, "the number of seconds or of words is out of range"),
        ({"done": ["other-1"]}, "it names runs that the recipe does not have"),
    ],
)
def test_plan_with_values_out_of_range_is_refused(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    stored = plan_file(tmp_path)
    stored.write(json.dumps(seal({**json.loads(stored.data), **changes})).encode())
    with pytest.raises(SynparseError, match=f"not the plan of a job .{problem}.*; begin again with --overwrite"):
        stored.read()


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        (IDS, lambda ids: ids.put(0, 99), "contains numbers that are not words"),
        (IDS, lambda ids: ids.put(0, -1), "contains numbers that are not words"),
        (IDS, lambda ids: ids.put(0, 0), "contains numbers that are not words"),
        (OFFSETS, lambda offsets: offsets.put(1, 10**9), "does not contain the starts of sentences"),
        (OFFSETS, lambda offsets: offsets.put(1, 0), "does not contain the starts of sentences"),
        (BREAKS, lambda gaps: gaps.put(0, 255), "contains numbers that are not punctuation"),
        (WORDS, lambda words: words.put(1, ord("\n")), "does not contain 4 different words"),
        (WORDS, lambda words: words.put(0, 255), "not UTF-8"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(
    tmp_path: Path, name: str, change: Callable[[np.ndarray], None], problem: str
) -> None:
    """The digests of the corpus fit, and its numbers do not."""
    corpus = corpus_file(tmp_path).path.parent
    types = dict(zip((WORDS, *ARRAYS), ("u1", "<i4", "<i8", "u1"), strict=True))
    values = np.fromfile(corpus / name, types[name])
    change(values)
    values.tofile(corpus / name)
    facts = read_facts(corpus)
    changed = replace(facts, files={**facts.files, name: describe_file(corpus / name)})
    write_metadata(corpus / FACTS, changed, FORMAT)
    with pytest.raises(SynparseError, match=f"{problem}.*; copy the folder again, or prepare it again") as error:
        PreparedCorpus.read(corpus)
    assert "\n" not in str(error.value)
