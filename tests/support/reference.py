"""Numerical fixtures from the original programs, and comparison with them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
REFERENCE = Path(os.environ.get("SYNPARSE_REFERENCE") or SHARED / "reference")


@dataclass(frozen=True)
class Fixture:
    """One pair ``NAME.npz`` and ``NAME.json``."""

    name: str
    doc: dict[str, Any]
    arrays: dict[str, np.ndarray]

    @property
    def sizes(self) -> dict[str, Any]:
        """Every dimension and setting of the model that made the numbers."""
        return self.doc["sizes"]

    def check(self, name: str, got: Any) -> None:
        """Assert that ``got`` is the array ``name`` within the tolerance that the fixture states."""
        got = np.asarray(got.detach().numpy() if hasattr(got, "detach") else got)
        want, tolerance = self.arrays[name], self.doc["tolerance"]
        mask = self.arrays.get("compare/" + name)
        if mask is not None:
            got, want = got[mask], want[mask]
        assert got.shape == want.shape, name
        np.testing.assert_allclose(
            got, want, atol=tolerance["atol"], rtol=tolerance["rtol"], err_msg=f"{self.name}: {name}"
        )


def fixtures(prefix: str) -> list[Any]:
    """All fixtures whose names begin with ``prefix``, or one skipped parameter with the reason for their absence."""
    names = sorted(path.stem for path in REFERENCE.glob(f"{prefix}*.json"))
    if not names:
        reason = f"no {prefix}* fixtures in {REFERENCE} (set SYNPARSE_REFERENCE)"
        return [pytest.param(prefix, marks=[pytest.mark.parity, pytest.mark.skip(reason=reason)])]
    return [pytest.param(name, marks=pytest.mark.parity) for name in names]


def load(name: str) -> Fixture:
    """The fixture called ``name``."""
    doc = json.loads((REFERENCE / f"{name}.json").read_text("utf-8"))
    with np.load(REFERENCE / f"{name}.npz", allow_pickle=False) as arrays:
        return Fixture(name, doc, dict(arrays))
