"""The model that is part of the package, so that sentences can be parsed before anything is trained.

``english.synparse`` is a packed model like any other, and its digests are checked. ``LICENSE.md`` in the same folder
names its training text and its license, and gives its scores. ``bench/experiments/builtin.py`` trains it.
"""

from __future__ import annotations

from pathlib import Path

NAME = "english"
FILE = Path(__file__).with_name(f"{NAME}.synparse")
ORIGIN = "a neural PCFG that read biomedical articles, CC BY 3.0"
