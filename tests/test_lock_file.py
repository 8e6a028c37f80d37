"""Every package is pinned, and the lock file has a digest of each."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from itertools import chain

from tests.support.reference import ROOT


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(text: str) -> dict[str, str]:
    """Name -> version, without the suffix for the device of a build."""
    matches = re.findall(r"^([A-Za-z0-9_.-]+)==([^\s\\+]+)", text, flags=re.M)
    return {canonical(name): version for name, version in matches}


def needed(name: str, result: set[str]) -> set[str]:
    """``name`` and its direct and indirect dependencies, from the metadata of installed packages."""
    if name not in result:
        result.add(name)
        for requirement in importlib.metadata.requires(name) or ():
            other = canonical(re.split(r"[ ;<>=!~\[(]", requirement)[0])
            if "extra ==" not in requirement and _installed(other):
                needed(other, result)
    return result


def _installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def test_all_dependencies_are_pinned_with_a_digest() -> None:
    lock = (ROOT / "requirements-lock.txt").read_text(encoding="utf-8")
    constraints = pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    locked = pins(lock)
    assert len(re.findall(r"^    --hash=sha256:[0-9a-f]{64}$", lock, flags=re.M)) == len(locked)
    assert locked == constraints
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]
    required: set[str] = set()
    for requirement in named:
        name = canonical(re.split(r"[ ;<>=!~\[(]", requirement)[0])
        if name == project["name"]:  # an extra that combines others
            continue
        assert name in locked, name
        if _installed(name):
            needed(name, required)
    assert required <= locked.keys()


def test_the_range_of_torch_stays_open() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "torch>=2.6" in project["dependencies"]


def test_extra_all_combines_all_extras_except_those_for_development() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (named,) = extras["all"]
    inner = re.fullmatch(r"synparse\[(.*)\]", named)
    assert inner
    assert set(inner[1].split(",")) == set(extras) - {"all", "docs", "dev"}
