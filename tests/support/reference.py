"""Numerical fixtures from the original programs, and comparison with them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from treebank.core.tree import Tree

if TYPE_CHECKING:
    from torch import Tensor

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

    @property
    def tolerance(self) -> dict[str, float]:
        """Absolute and relative tolerance, as arguments of ``assert_allclose``."""
        return {key: self.doc["tolerance"][key] for key in ("atol", "rtol")}

    def tensor(self, name: str, *, gradient: bool = False) -> Tensor:
        """The array ``name`` as a tensor, which is a leaf of the graph if ``gradient`` is true."""
        import torch

        return torch.tensor(self.arrays[name], requires_grad=gradient)

    def check(self, name: str, got: Any) -> None:
        """Assert that ``got`` is the array ``name`` within the tolerance that the fixture states."""
        got = np.asarray(got.detach().numpy() if hasattr(got, "detach") else got)
        want = self.arrays[name]
        mask = self.arrays.get("compare/" + name)
        if mask is not None:
            got, want = got[mask], want[mask]
        assert got.shape == want.shape, name
        np.testing.assert_allclose(got, want, **self.tolerance, err_msg=f"{self.name}: {name}")

    def copy_weights(self, named: Mapping[str, Tensor]) -> set[str]:
        """Copy the weights of the fixture into the parameters ``named``. Returns the names of its other weights."""
        for name, parameter in named.items():
            parameter.data = self.tensor(f"weight/{name}")
        return {name.removeprefix("weight/") for name in self.arrays if name.startswith("weight/")} - named.keys()

    def check_all(self, values: Mapping[str, Any], prefix: str = "") -> None:
        """Compare ``values`` with the arrays of their names below ``prefix``."""
        for name, value in values.items():
            self.check(prefix + name, value)

    def check_loss(self, loss: Tensor, named: Mapping[str, Tensor], name: str = "loss", kind: str = "grad") -> None:
        """Compare a loss with the array ``name``, and all its gradients with those below ``kind``."""
        self.check(name, loss)
        loss.backward(retain_graph=True)
        self.check_gradients(kind, named)

    def check_weighted(self, values: Mapping[str, Tensor]) -> None:
        """Compare ``values`` and their sum, weighted by the cotangents of the fixture, and compute its gradients."""
        loss = sum((self.tensor(f"cotangent/{name}") * value).sum() for name, value in values.items())
        loss.backward()
        self.check_all({**values, "loss": loss})

    def check_gradients(self, kind: str, named: Mapping[str, Tensor]) -> None:
        """Compare all gradients with those of the fixture below ``kind``, and clear them."""
        names = {name for name in self.arrays if name.startswith(f"{kind}/")}
        assert names == {f"{kind}/{name}" for name, parameter in named.items() if parameter.grad is not None}
        for name, parameter in named.items():
            if parameter.grad is not None:
                self.check(f"{kind}/{name}", parameter.grad)
            parameter.grad = None


def weights_and_biases(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Original name -> weight and bias of the modules ``parts``."""
    return {f"{name}.{kind}": getattr(part, kind) for name, part in parts.items() for kind in ("weight", "bias")}


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


def without_labels(tree: Tree) -> str:
    """The bracketing of a tree, such as ``(a (b c))``."""
    return str(Tree(tree.words, ("",) * len(tree), tree.spans, ("",) * len(tree.spans))).replace("( ", "(")
