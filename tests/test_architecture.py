"""Structure of the code: direction of imports, large packages that are imported only when needed, short functions."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("treebank", "induce", "cli")
HEAVY = ("torch", "nltk", "numpy")
MAX_FUNCTION_LINES = 50
FORBIDDEN = {  # package -> modules that its files must not import
    "treebank": ("torch", "click", "induce", "cli"),
    "induce": ("click", "cli"),
    "cli": (),
}


@cache
def sources() -> dict[Path, str]:
    """The text of every file of the packages."""
    files = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return {path: path.read_text(encoding="utf-8") for path in files}


parse = cache(ast.parse)


def named(node: ast.stmt, package: str) -> list[str]:
    """The modules that an import statement of a file in ``package`` names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = f"{package}." if node.level else ""
    return [base + (node.module or "")]


def imports(tree: ast.Module, package: str, *, at_module_level: bool = False) -> Iterator[str]:
    """Imported modules. Imports under ``if TYPE_CHECKING`` do not count at module level."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from named(node, package)
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if at_module_level and (
            is_function or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        ):
            continue
        todo.extend(ast.iter_child_nodes(node))


def violations(source: str, package: str) -> list[str]:
    """The forbidden imports of one file's text."""
    tree = parse(source)
    names = [name for name in imports(tree, package) if name.split(".")[0] in FORBIDDEN[package]]
    if package in ("cli", "treebank"):
        names += [name for name in imports(tree, package, at_module_level=True) if name.split(".")[0] in HEAVY]
    return names


def test_imports_have_one_direction() -> None:
    for path, source in sources().items():
        assert violations(source, path.relative_to(ROOT).parts[0]) == [], path


@pytest.mark.parametrize(
    ("source", "package", "is_forbidden"),
    [
        ("import torch", "treebank", True),
        ("def f():\n    import torch.nn", "treebank", True),
        ("from induce.parsing.load import load_parser", "treebank", True),
        ("if True:\n    import numpy as np", "treebank", True),
        ("def f():\n    import click", "induce", True),
        ("from cli.options import note", "induce", True),
        ("import torch", "cli", True),
        ("class A:\n    from nltk import Tree", "cli", True),
        ("def f():\n    import numpy", "treebank", False),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import numpy", "treebank", False),
        ("def f():\n    import torch", "cli", False),
        ("import torch\nfrom treebank.core.tree import Tree", "induce", False),
    ],
)
def test_forbidden_import_is_detected(source: str, package: str, is_forbidden: bool) -> None:
    assert bool(violations(source, package)) == is_forbidden


def module_name(path: Path) -> str:
    """The dotted name of a file, that of its folder for ``__init__.py``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def edges(modules: Mapping[str, str]) -> dict[str, set[str]]:
    """Module -> the modules of ``modules`` that it imports anywhere: in functions, for types, and by strings.

    A string counts if it is the argument of ``import_module``, also within a larger expression.
    """
    result: dict[str, set[str]] = {}
    for name, source in modules.items():
        result[name] = set()
        for node in ast.walk(parse(source)):
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                targets = [submodule if submodule in modules else node.module for submodule in inner]
            elif isinstance(node, ast.Call) and "import_module" in (
                getattr(node.func, "id", ""),
                getattr(node.func, "attr", ""),
            ):
                strings = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
                targets = [part.partition(":")[0] for part in strings if isinstance(part, str)]
            else:
                continue
            result[name] |= {target for target in targets if target in modules and target != name}
    return result


def circle(modules: Mapping[str, str]) -> set[str]:
    """Modules that import each other in a circle, if there is one."""
    try:
        TopologicalSorter(edges(modules)).prepare()
    except CycleError as error:
        return set(error.args[1])
    return set()


def test_imports_have_no_cycles_even_if_deferred() -> None:
    assert circle({module_name(path): source for path, source in sources().items()}) == set()


def test_folders_of_induce_do_not_import_each_other() -> None:
    modules = {module_name(path): source for path, source in sources().items() if "induce" in path.parts}
    pairs = {(folder(name), folder(target)) for name, targets in edges(modules).items() for target in targets}
    mutual = {" ".join(sorted(pair)) for pair in pairs if pair[::-1] in pairs and pair[0] != pair[1] and all(pair)}
    assert sorted(mutual) == []


def test_tasks_are_reached_by_the_registry_alone() -> None:
    for path in (path for path in sources() if "tasks" not in path.parts and path.name != "task.py"):
        names = imports(parse(sources()[path]), "induce")
        assert [name for name in names if name.startswith("induce.tasks")] == [], path


def test_core_of_induce_does_not_mention_tasks() -> None:
    core = {"data", "decoding", "layers", "models", "parsing", "settings", "storage", "training", "workers"}
    for path, source in sources().items():
        package, folder, *_ = path.relative_to(ROOT).parts
        if package == "induce" and (folder in core or folder in ("setting.py", "structures.py")):
            assert re.findall(r"(?i)task", source) == [], path


def folder(module: str) -> str:
    """The folder of a module of induce, "" for a module directly in induce."""
    parts = module.split(".")
    is_folder = len(parts) > 2 or (ROOT / "induce" / parts[-1]).is_dir()
    return parts[1] if len(parts) > 1 and is_folder else ""


def test_cycle_is_detected() -> None:
    modules = {
        "p": "",
        "p.a": "from p.b import f",
        "p.b": "def f():\n    from p import c",
        "p.c": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import p.a",
        "p.d": "import p.a\nimport p.b",
        "p.e": "import p.d",
    }
    assert circle(modules) == {"p.a", "p.b", "p.c"}
    by_string = {**modules, "p.c": "from importlib import import_module\nimport_module('p.a').f()"}
    assert circle(by_string) == {"p.a", "p.b", "p.c"}
    assert circle({**modules, "p.c": "import json"}) == set()


def long_functions(source: str) -> list[str]:
    """Functions of more than `MAX_FUNCTION_LINES` lines, from ``def`` to the end."""
    functions = [node for node in ast.walk(parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [node.name for node in functions if (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION_LINES]


def test_functions_are_not_long() -> None:
    assert [name for source in sources().values() for name in long_functions(source)] == []


def test_long_function_is_detected() -> None:
    body = "    pass\n" * (MAX_FUNCTION_LINES - 2)
    assert long_functions(f"@cache\ndef f(\n):\n{body}\ndef g(\n):\n{body}    pass\n") == ["g"]


def test_training_and_parsing_do_without_scores() -> None:
    parts = ("data", "training", "parsing/parser.py", "parsing/model_parser.py", "decoding")
    paths = [path for path in sources() if any(path.is_relative_to(ROOT / "induce" / part) for part in parts)]
    assert len(paths) > len(parts)
    for path in paths:
        names = imports(parse(sources()[path]), "induce")
        assert [name for name in names if name.startswith("treebank.evaluate")] == [], path


def heavy_modules_after(program: str) -> list[str]:
    """Heavy modules that are loaded after ``program`` has run in a new interpreter."""
    ending = f"\nimport sys\nprint('loaded:', *[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program + ending], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1].split()[1:]


COMMANDS = ("eval", "decode", "parse", "train", "extract", "info", "analyze")
HELP = f"""
import synparse
from cli.main import run

assert synparse.__version__
for command in {[[], *([name] for name in COMMANDS)]}:
    assert run([*command, "--help"]) == 0, command
"""


def test_help_and_the_python_interface_load_nothing_heavy() -> None:
    assert heavy_modules_after(HELP) == []


def test_the_test_above_can_fail(tmp_path: Path) -> None:
    """A command line that imports a heavy module (here an empty module of that name) is detected."""
    for module in HEAVY:
        (tmp_path / f"{module}.py").write_text("", encoding="utf-8")
    (tmp_path / "wrong_command.py").write_text(
        f"import {', '.join(HEAVY)}\nfrom cli.main import run\n", encoding="utf-8"
    )
    wrong = HELP.replace("from cli.main", f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nfrom wrong_command")
    assert heavy_modules_after(wrong) == list(HEAVY)


def test_commands_about_files_do_not_load_torch(tmp_path: Path) -> None:
    trees = tmp_path / "trees.mrg"
    trees.write_text("(S (NP (DT the) (NN cat)) (VP (VBD sat)))\n" * 3, encoding="utf-8")
    calls = [
        ["eval", "--gold", str(trees), str(trees), "--baseline", "right"],
        ["convert", str(trees)],
        ["search", "NP < DT", str(trees)],
        ["phrases", str(trees)],
        ["draw", str(trees)],
        ["data", "list"],
        ["cite", "--convention", "km"],
    ]
    program = f"from cli.main import run\nfor call in {calls!r}:\n    assert run(call) == 0, call"
    assert "torch" not in heavy_modules_after(program)


def test_the_version_is_the_same_everywhere() -> None:
    import tomllib

    from treebank.base import VERSION

    assert tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"] == VERSION
