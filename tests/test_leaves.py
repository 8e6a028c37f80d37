"""Optional parts of the program: each can be deleted, and ``train``, ``parse`` and ``eval`` still work without it."""

from __future__ import annotations

import json
import site
import subprocess
import sys
from pathlib import Path

from tests.support.calls import ENVIRONMENT, TINY, toy_text
from tests.support.reference import ROOT

LEAVES = (
    "treebank/convert",
    "treebank/draw",
    "treebank/field",
    "treebank/graphs",
    "treebank/search",
    "induce/analysis",
    "induce/distillation",
    "induce/distributed",
    "induce/ensemble",
    "induce/family",
    "induce/labels",
    "induce/likelihood",
    "induce/models/autoencoders",
    "induce/models/dependency",
    "induce/models/distilled",
    "induce/models/em",
    "induce/models/grammars",
    "induce/models/masked",
    "induce/recipes",
    "induce/reporting",
    "induce/search",
    "induce/shards",
    "induce/states",
    "induce/tasks",
)
TREES = "(S (NP (DT the) (NN cat)) (VP (VBD sat)))\n(S (NP (DT a) (NN dog)) (VP (VBD saw) (NP (PRP it))))\n"


def calls(leaf: str) -> list[list[str]]:
    """Command lines that must work without ``leaf``. The built-in model belongs to the distilled models."""
    train = ["train", "text.txt", "--model", "onlstm", *TINY, "--set", "train.epochs=1", "-o", leaf.replace("/", "-")]
    model = ["-m", leaf.replace("/", "-")]
    use = [["parse", *model, "text.txt"], ["eval", "--gold", "gold.mrg", *model, "--baseline", "right"]]
    builtin = [["parse", "text.txt"], ["eval", "--gold", "gold.mrg", "-m", "english"]]
    return [train, *use, *([] if leaf == "induce/models/distilled" else builtin)]


def test_every_leaf_can_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(toy_text(40), encoding="utf-8")
    (tmp_path / "gold.mrg").write_text(TREES, encoding="utf-8")
    copies = {leaf.replace("/", "-") + ".copy": leaf for leaf in LEAVES}
    request = {
        "packages": site.getsitepackages(),
        "source": str(ROOT),
        "deleted": copies,
        "calls": {name: calls(leaf) for name, leaf in copies.items()},
    }
    done = subprocess.run(
        [sys.executable, "-IS", str(ROOT / "tests" / "support" / "leaf_runner.py")],
        input=json.dumps(request),
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    errors = {copies[name]: error for name, error in json.loads(done.stdout).items() if error}
    assert errors == {}
