"""``synparse analyze agreement`` from the outside."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.calls import Caller


def test_the_command(call: Caller, model: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The dog saw a cat .\nThe old man met the girl .\n", encoding="utf-8")
    runs = ["-m", f"{model}@layer=1", "-m", f"{model}@layer=2"]
    out = call.result("analyze", "agreement", *runs, text, "--baseline", "right")
    assert "agreement|F1|avg:sent|root:drop|words:3-|" in out.splitlines()[-1]
    predictions = tmp_path / "given.txt"
    call.result("parse", text, "-m", model, "-o", predictions)
    choice_file = tmp_path / "choice.json"
    call.result("analyze", "agreement", "-m", model, "--predicted", predictions, text, "--select", choice_file)
    assert json.loads(choice_file.read_text(encoding="utf-8"))["ranking"][0]["others"] == 100
    text.write_text("( ( a and b ) or c )\n( a or ( not ( b and c ) ) )\n", encoding="utf-8")  # not trees
    assert call.result("analyze", "agreement", *runs, text, "--input-format", "text").rstrip().endswith("|sentences:2")
