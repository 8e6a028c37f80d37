"""Manual pages: one for every command, with all its options, in roff that is read without complaints."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cli.main import COMMANDS
from cli.manual import manual_pages, roff, write_pages


def test_a_page_for_every_command_with_its_options() -> None:
    pages = dict(manual_pages())
    assert {"synparse.1", "synparse-analyze-channels.1", *(f"synparse-{name}.1" for name in COMMANDS)} <= pages.keys()
    train = pages["synparse-train.1"]
    assert train.startswith('.TH "SYNPARSE-TRAIN" 1')
    assert r"\fB\-\-max\-minutes" in train
    assert "\n.nf\n" in pages["synparse.1"]
    assert r"\fBparse\fR" in pages["synparse.1"]


def test_what_roff_would_read_as_a_request() -> None:
    assert roff(".svg\n-m a\\b …") == r"\&.svg \-m a\eb \[u2026]"


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff here")
def test_groff_reads_them_without_complaints(tmp_path: Path) -> None:
    assert write_pages(tmp_path) >= len(COMMANDS) + 1
    pages = sorted(map(str, tmp_path.glob("*.1")))
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", *pages], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "max-minutes" in done.stdout
