"""Pages of the site that are generated: the README, options, settings, the Python API and the notebook.

MkDocs calls the functions whose names begin with ``on_``. Links from the pages to files of the source go to pages of
the site that show these files, so the site needs nothing else.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import re
from collections.abc import Iterator
from html import unescape
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
SOURCE = re.compile(r"\]\((?:\.\./)+((?:treebank|induce|cli|bench|tests)/[\w/]+\.py)")
GENERATED = {"Options": "reference/cli.md", "Settings": "reference/settings.md", "Python API": "reference/api.md"}
SECTIONS = {"Models": "reference/models/", "Results": "results/"}  # title in the navigation -> folder of its pages
NOTEBOOK, NOTEBOOK_PAGE = "tutorials/tour.ipynb", "tutorials/tour.md"
NOTEBOOK_LINK = re.compile(r"\]\(((?:\.\./)*(?:tutorials/)?tour)\.ipynb\)")
STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)  # follows the system, not the color menu of the site
README_LINK = re.compile(r"\]\((?:\.\./)+README\.md")
EXAMPLE = re.compile(r"(?m)^>>> .*\n?(?:^(?!$).*\n?)*")
ADDRESS = re.compile(r"<function (\w+) at 0x\w+>")  # of a default that is a function
QUOTED = re.compile(r"(: |-> )'([^']*)'")  # an annotation
FILLED = re.compile(r"( = [A-Z]\w*)\([^()]+\)")  # a default that is an object, with all of its fields
WIDTH = 80
INLINE = re.compile(r"(?<!<pre>)<code>([^<]*)</code>")
HYPHENED = re.compile(r"[^\s|=,]*-[^\s|=,]*")  # an option, or a name with hyphens
TAG = re.compile(r"<[^>]*>")
CELL = re.compile(r"<td([^>]*)>(.*?)</td>", re.DOTALL)
SCORE = r"\d[\d.]*(?: ± \d[\d.]*)?"
TOGETHER = re.compile(rf"\[\d[\d.]*, \d[\d.]*\]|{SCORE} / {SCORE}")  # an interval, or two scores
SHORT, LONG = 24, 40  # characters: code that is not broken, a cell that is not squeezed
PACKAGES = ("treebank.", "induce.", "cli.")
API_INTRODUCTION = """
The functions of `import synparse`, then the classes that they take and return. [Use Python](../how-to/python.md) shows
each of them at work.

- `train` returns a parser; `trainer` gives control over the training loop; `load` reads a trained parser.
- A parser is called with sentences and yields trees or heads. `combine` makes one parser of several.
- `search` finds trees and heads by patterns, `phrases` counts phrases and arcs, `browse` makes a page of both, and
  `Corpus` holds their files.
- `evaluate` scores parsers, trees and baselines; `draw` and `report` show them; `read` yields the sentences of a file.
- Errors that you can fix are a `SynparseError`. Its message states location, problem and remedy.
- Word indices start at 0, spans exclude their end, and `heads[i]` is the index of the head of word i, or -1 for a root.

The examples run as printed.
"""
CLASSES = (  # types of values that programs receive
    "treebank.core.tree:Tree",
    "treebank.core.sentence:Sentence",
    "treebank.core.sentence:Treebank",
    "treebank.search.search:Match",
    "treebank.search.search:Hit",
    "treebank.search.phrases:PhraseFilter",
    "treebank.search.phrases:PhraseTable",
    "treebank.search.phrases:PhraseRow",
    "treebank.search.phrases:Frequency",
    "treebank.draw.notebook:Drawing",
    "treebank.evaluate.evaluate:EvaluationPlan",
    "treebank.evaluate.evaluate:Evaluation",
    "treebank.evaluate.score:TreeScore",
    "induce.parsing.model_parser:ModelParser",
    "induce.parsing.reading:Reading",
    "induce.ensemble.ensemble:Ensemble",
    "induce.search.parsed_corpus:Corpus",
    "induce.training.request:RunRequest",
    "induce.training.loop:Trainer",
    "induce.models.base:Model",
    "induce.models.base:FittedModel",
    "induce.structures:Distances",
    "induce.structures:HeadDistribution",
    "induce.structures:SpanScores",
)


def on_config(config: Any) -> Any:
    """Complete the navigation: pages of models and results, generated pages, and pages that no section lists."""
    pages = sorted(path.relative_to(config.docs_dir).as_posix() for path in Path(config.docs_dir).rglob("*.md"))
    listed = set(_listed(config.nav))
    for title, entries in _sections(config.nav):
        if title in SECTIONS:
            entries += [page for page in pages if page.startswith(SECTIONS[title]) and page not in listed]
        elif title == "Reference":
            entries += [{name: page} for name, page in GENERATED.items()]
        elif title == "Tutorials":
            entries.append({"A tour in a notebook": NOTEBOOK_PAGE})
    missing = [page for page in pages if page not in set(_listed(config.nav))]
    config.nav += [{"More": missing}] if missing else []
    return config


def _sections(entries: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """Title and entries of each section of the navigation, nested ones included."""
    for entry in entries:
        for title, inner in entry.items() if isinstance(entry, dict) else ():
            if isinstance(inner, list):
                yield title, inner
                yield from _sections(inner)


def _listed(nav: Any) -> Iterator[str]:
    """The pages in a navigation, however deep."""
    if isinstance(nav, str):
        yield nav
    for inner in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from _listed(inner)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are generated."""
    made = dict(zip(GENERATED.values(), (options_page(), settings_page(), api_page()), strict=True))
    made[NOTEBOOK_PAGE] = notebook_page(json.loads((ROOT / "docs" / NOTEBOOK).read_text(encoding="utf-8")))
    made["readme.md"] = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    for path in Path(config.docs_dir).rglob("*.md"):
        for source in SOURCE.findall(path.read_text(encoding="utf-8")):
            text = (ROOT / source).read_text(encoding="utf-8")
            made[f"source/{source}.md"] = f"# {source}\n\n```python\n{text}```\n"
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links to the source, to the README and to the notebook at the pages of the site."""
    if page.file.src_uri != NOTEBOOK_PAGE:
        markdown = NOTEBOOK_LINK.sub(r"](\1.md)", markdown)
    up = os.path.relpath(".", os.path.dirname(page.file.src_uri) or ".")
    markdown = SOURCE.sub(lambda match: f"]({up}/source/{match[1]}.md", markdown)
    return README_LINK.sub(f"]({up}/readme.md", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Keep options, short code and intervals in tables from being broken between lines."""
    return CELL.sub(_cell, INLINE.sub(_code, html))


def on_post_page(output: str, **_: Any) -> str:
    """Add the style sheets for code that the color menu of the theme switches. It fails without them."""
    sheets = "".join(f'<style id="hljs-{mode}"></style>' for mode in ("light", "dark"))
    return output.replace("</head>", f"{sheets}</head>", 1)


def on_post_build(config: Any, **_: Any) -> None:
    """Let the search take options and other text with signs, which its index reads as operators."""
    path = Path(config.site_dir) / "search" / "worker.js"
    script = path.read_text(encoding="utf-8")
    query = script.replace("index.search(query)", "index.search(query.replace(/[-+:^~*]/g, ' '))")
    assert query != script, "the search of MkDocs has changed"
    path.write_text(query, encoding="utf-8")


def _code(match: re.Match[str]) -> str:
    if len(unescape(match[1])) <= SHORT:
        return f'<code class="whole">{match[1]}</code>'
    return "<code>" + HYPHENED.sub(_whole, match[1]) + "</code>"


def _whole(match: re.Match[str]) -> str:
    return f'<span class="whole">{match[0]}</span>' if len(unescape(match[0])) <= SHORT else match[0]


def _cell(match: re.Match[str]) -> str:
    long = ' class="long"' * (len(TAG.sub("", match[2])) > LONG)
    return f"<td{match[1]}{long}>{TOGETHER.sub(_whole, match[2])}</td>"


def notebook_page(notebook: dict[str, Any]) -> str:
    """The cells of a notebook with their stored outputs, as Markdown."""
    parts: list[str] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if picture := "".join(data.get("image/svg+xml", data.get("text/html", ""))):
                name = "picture" if "<svg" in picture else "output"
                parts.append(f'<div class="{name}">\n{STYLE.sub("", picture).strip()}\n</div>')
            else:
                text = "".join(output.get("text", data.get("text/plain", ""))).rstrip()
                parts.append(f"```text\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def options_page() -> str:
    """The help text of every command."""
    from cli.command import walk_commands
    from cli.main import synparse

    parts = ["# Options", "The output of `synparse COMMAND --help` for every command."]
    for name, command in walk_commands(synparse, "synparse"):
        with click.Context(command, info_name=name, max_content_width=100) as context:
            parts.append(f"## {name}\n\n```\n{command.get_help(context)}\n```")
    return "\n\n".join(parts) + "\n"


def settings_page() -> str:
    """Tables of the settings of data, training and parsing, and of each model."""
    from induce.registry import MODELS
    from induce.settings import run

    parts = ["# Settings", "Change a setting with `--set table.name=value`. Presets change the defaults below."]
    parts += [_settings(name, table, name) for name, table in run.TABLES.items()]
    for table, entries in run.COMPONENTS.items():
        parts += [_settings(f"{table} {name}", entry.settings, table) for name, entry in entries.items()]
    for name, entry in MODELS.items():
        module, _, kind = entry.location.partition(":")
        parts.append(_settings(f"Model {name}", getattr(import_module(module), kind).Config, "model"))
    return "\n\n".join(parts) + "\n"


def _settings(title: str, table: Any, prefix: str) -> str:
    rows = ["| setting | default | meaning |", "| --- | --- | --- |"]
    for field in dataclasses.fields(table):
        default = "" if field.default is dataclasses.MISSING else f"`{field.default!r}`"
        meaning = field.metadata.get("help", "").replace("|", "\\|")
        rows.append(f"| `{prefix}.{field.name}` | {default} | {meaning} |")
    return f"## {title}\n\n" + "\n".join(rows)


def api_page() -> str:
    """Signatures and docstrings of the functions of ``synparse`` and of the types of their arguments and results."""
    import synparse

    parts = ["# Python reference", API_INTRODUCTION]
    for name in synparse.__all__:
        function = getattr(synparse, name)
        if inspect.isfunction(function):
            parts.append(f"## {name}\n\n{_function_entry(f'synparse.{name}', function)}")
    parts += [_class_entry(path) for path in CLASSES]
    return "\n\n".join(parts) + "\n"


def _class_entry(path: str) -> str:
    """A class with its public methods and properties, including inherited ones of this package."""
    module, _, name = path.partition(":")
    cls = getattr(import_module(module), name)
    parts = [f"## {name}", f"`{module}.{name}`", _docstring(cls)]
    if dataclasses.is_dataclass(cls):
        parts.append("\n".join(f"- `{field.name}`: `{field.type}`" for field in dataclasses.fields(cls)))
    for member, value in inspect.getmembers(cls):
        inner = getattr(value, "__func__", value)
        bases = [base for base in cls.__mro__ if base.__module__.startswith(PACKAGES)]
        if member.startswith("_") or not any(member in vars(base) for base in bases):
            continue
        if inspect.isfunction(inner):
            parts.append(f"### {name}.{member}\n\n{_function_entry(f'{name}.{member}', inner)}")
        elif isinstance(value, property) and value.__doc__:
            parts.append(f"### {name}.{member}\n\n{_docstring(value)}")
    return "\n\n".join(filter(None, parts))


def _function_entry(name: str, function: Any) -> str:
    """Signature, with one parameter per line if it is long, and docstring."""
    signature = ADDRESS.sub(r"\1", str(inspect.signature(function, eval_str=False)))
    line = name + FILLED.sub(r"\1(…)", QUOTED.sub(r"\1\2", signature))
    if len(line) > WIDTH:
        parts, depth = [""], 0
        for sign in line:
            depth += (sign in "([{") - (sign in ")]}")
            if sign == "," and depth == 1:
                parts.append("")
            else:
                parts[-1] += sign
        line = ",\n   ".join(parts).replace("(", "(\n    ", 1)
    return f"```python\n{line}\n```\n\n{_docstring(function)}"


def _docstring(thing: Any) -> str:
    """The docstring as Markdown, with its examples as blocks."""
    text = (inspect.getdoc(thing) or "").replace("``", "`")
    return EXAMPLE.sub(lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", text)
