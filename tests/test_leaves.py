"""Optional parts of the program: each can be deleted, and ``train``, ``parse`` and ``eval`` still work without it."""

from __future__ import annotations

import ast
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
CORE_COMMANDS = {f"cli/commands/{name}.py" for name in ("train", "parse", "eval")}
COMMANDS_OF_LEAVES = ("cli/commands/", "cli/corpus_options.py", "cli/plot_options.py")
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


def imported_modules(path: Path) -> set[str]:
    """Modules that a file imports when it is loaded or when its functions run, without those that only types need."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    for_types = {id(inner) for block in blocks for inner in ast.walk(block)}
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and id(node) not in for_types:
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and id(node) not in for_types:
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    return modules


def is_core(path: str) -> bool:
    """Whether a file is neither part of a leaf nor of a command other than train, parse and eval."""
    return not path.startswith((*(f"{leaf}/" for leaf in LEAVES), *COMMANDS_OF_LEAVES)) or path in CORE_COMMANDS


def test_core_imports_no_leaf_even_inside_functions() -> None:
    prefixes = tuple(f"{leaf.replace('/', '.')}." for leaf in LEAVES)
    files = [path for package in ("cli", "induce", "treebank") for path in sorted((ROOT / package).rglob("*.py"))]
    core = {name: path for path in files if is_core(name := path.relative_to(ROOT).as_posix())}
    assert core.keys() >= CORE_COMMANDS
    leaves = {
        name: sorted(module for module in imported_modules(path) if f"{module}.".startswith(prefixes))
        for name, path in core.items()
    }
    assert {name: modules for name, modules in leaves.items() if modules} == {}
