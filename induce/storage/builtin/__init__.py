"""The model that comes with the program, so that there are trees before anything was trained.

``english.synparse`` is a packed model like any other, its parts verified by their digests; ``LICENSE.md``,
beside it in the source and among the licences of an installed package, says what it learned from, under which licence,
and how well it parses; ``bench/builtin.py`` is how it was trained.
"""

from __future__ import annotations

import os
from pathlib import Path

NAME = "english"
FILE = Path(__file__).with_name(f"{NAME}.synparse")
ORIGIN = "a neural PCFG that read biomedical articles, CC BY 3.0"
USUAL = "synparse-model"


def default_run() -> str:
    """The model folder that is meant when none is named: $SYNPARSE_MODEL, else ./synparse-model."""
    return os.environ.get("SYNPARSE_MODEL") or USUAL


def parsing_run() -> str:
    """The model to parse with when none is named: the default one, and before anything was trained the built-in one."""
    run = default_run()
    return NAME if run == USUAL and not os.path.lexists(run) else run


def place_of(run: Path) -> Path:
    """Where ``run`` is: ``english`` is the built-in model, unless the user has something of that name."""
    return FILE if str(run) == NAME and not os.path.lexists(run) else run
