"""The examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

from tests.support.reference import ROOT

PLACES = [
    ROOT / "synparse.py",
    *(path for room in ("treebank", "induce", "cli") for path in (ROOT / room).rglob("*.py")),
]
WITH_EXAMPLES = sorted(path for path in PLACES if ">>> " in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_run(path: Path) -> None:
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    failed, tried = doctest.testmod(module)
    assert (failed, tried > 0) == (0, True)


def test_public_functions_and_their_return_types_have_examples() -> None:
    assert {"synparse.py", "tree.py", "distances.py", "heads.py", "dependency.py"} <= {
        path.name for path in WITH_EXAMPLES
    }
