"""The pages of models name functions, settings and presets that exist, and have the same sections."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path

import pytest

from induce.registry import MODELS, PURPOSES, load
from induce.settings.presets import load_preset
from induce.settings.run import COMPONENTS, TABLES
from tests.support.reference import ROOT

PAGES = sorted(path for path in (ROOT / "docs/reference/models").glob("*.md") if path.name != "index.md")
SECTIONS = ("When to use", "Command", "Settings", "Scores")
NOT_SETTINGS = "py|name|txt|tsv|zip"  # what follows "model." and the like in names of modules and files
SETTING = re.compile(rf"(?<![-.\w])((?:model|{'|'.join((*TABLES, *COMPONENTS))})\.(?!(?:{NOT_SETTINGS})\b)[a-z_]+)\b")


def test_the_longest_sentences_of_the_models_are_listed() -> None:
    text = (ROOT / "docs/reference/models/index.md").read_text(encoding="utf-8").partition("\n## Longest sentences")[2]
    rows = [line.split("|")[1:3] for line in text.splitlines() if line.startswith("| `")]
    listed = {name: limit.strip() for names, limit in rows for name in re.findall("`([^`]+)`", names)}
    limits = {name: load(entry.location).max_length for name, entry in MODELS.items()}
    assert listed == {name: f"{limit:,}" if limit else "any" for name, limit in limits.items()}


def test_the_priors_of_all_presets_are_listed() -> None:
    text = (ROOT / "docs/reference/priors.md").read_text(encoding="utf-8").partition("\n| preset | priors |")[2]
    rows = [line.split("|")[1:3] for line in text.partition("\n\n")[0].splitlines() if line.startswith("| `")]
    listed = {name: re.findall("`([^`]+)`", cell) for names, cell in rows for name in re.findall("`([^`]+)`", names)}
    presets = [load_preset(path.stem) for path in (ROOT / "induce/presets").glob("*.toml")]
    assert listed == {preset.preset: list(preset.parse.priors) for preset in presets if preset.parse.priors}


def test_scores_of_latent_trees_are_those_of_the_results() -> None:
    results = (ROOT / "docs/results/language-models.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(rl-spinn|crvnn|gumbel-tree-lstm)` \| (.*) \| (.*) \|$", results, re.MULTILINE)
    assert len(rows) == 6
    for name, accuracy, f1 in rows:
        page = (ROOT / f"docs/reference/models/{name}.md").read_text(encoding="utf-8")
        assert f"accuracy {accuracy}, UF1 {f1}".replace("**", "") in " ".join(page.split()), name


def definitions() -> tuple[set[str], dict[str, set[str]]]:
    """Names of all functions and classes, and for each class the names in its body and those of its bases."""
    functions, members, bases = set(), {}, {}
    for path in (file for folder in ("induce", "treebank") for file in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                functions.add(node.name)
            if isinstance(node, ast.ClassDef):
                inner = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
                inner |= {str(getattr(item.target, "id", "")) for item in node.body if isinstance(item, ast.AnnAssign)}
                members[node.name] = members.get(node.name, set()) | inner
                bases[node.name] = [base.id for base in node.bases if isinstance(base, ast.Name)]
    for _ in range(4):  # levels of inheritance
        for name, above in bases.items():
            members[name] = members[name].union(*(members.get(base, set()) for base in above))
    return functions, members


def setting_names() -> set[str]:
    tables = {**{name: [kind] for name, kind in TABLES.items()}}
    tables |= {name: [entry.settings for entry in entries.values()] for name, entries in COMPONENTS.items()}
    models = [*MODELS.values(), *(entry for task in PURPOSES.values() for entry in task.models.values())]
    tables["model"] = [load(entry.location).Config for entry in models]
    return {
        f"{table}.{field.name}"
        for table, kinds in tables.items()
        for kind in kinds
        for field in dataclasses.fields(kind)
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sections_are_those_of_the_template(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [section for section in SECTIONS if f"\n## {section}\n" not in text] == []


def test_functions_exist() -> None:
    functions, members = definitions()
    for page in PAGES:
        for row in re.findall(r"^\|[^|]*\|([^|]*)\|$", page.read_text(encoding="utf-8"), re.MULTILINE):
            for name in re.findall(r"`([A-Za-z_]+(?:\.[a-z_]+)?)`", row):
                first, _, member = name.partition(".")
                if member and first in members:
                    assert member in members[first], (page.name, name)
                elif re.search("[A-Z]", name):
                    assert name in functions, (page.name, name)


def test_settings_and_presets_exist() -> None:
    settings = setting_names()
    presets = {path.stem for folder in ("induce/presets", "induce/tasks/presets") for path in (ROOT / folder).iterdir()}
    for page in [*PAGES, ROOT / "docs/how-to/reproduce-papers.md"]:
        text = page.read_text(encoding="utf-8")
        assert set(SETTING.findall(text)) <= settings, page.name
        assert set(re.findall(r"`([a-z0-9-]+-(?:small|ptb|wsj|text8|agreement|tags|plain|right))`", text)) <= presets
