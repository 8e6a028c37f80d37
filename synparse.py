"""The public face: ``import synparse; synparse.load("RUN").parse(["the cat sat".split()])``; ``python -m synparse``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treebank.version import VERSION as __version__

if TYPE_CHECKING:
    from induce.parsing.parser import Parser

__all__ = ["__version__", "load"]


def load(run: str, **options: Any) -> Parser:
    """The trained model in the folder ``run``, ready to parse."""
    from induce.parsing.load import load_parser

    return load_parser(run, **options)


if __name__ == "__main__":
    from cli.main import main

    main()
