"""Report benchmarks that became slower than in another revision, by more than the noise.

``python bench/compare.py [REVISION] [--bench NAME…] [--rounds N]`` runs benchmarks of the working tree and of REVISION
(the last commit by default) alternately, and prints for every speed the ratio of the best rounds. The noise is the
spread of the rounds of one tree. Speeds that are lower by more than the noise and by more than 3 % are marked, and the
exit code is then 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench.figures import QUICK, ROOT, benchmarks, run  # noqa: E402
from bench.machine import describe  # noqa: E402

TOLERANCE = 0.03
SPEED = "/s"  # ends the name of a speed; other figures are ratios or sizes


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """Temporary folder with the files of ``revision``."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(folder), revision], check=True)
        try:
            yield folder
        finally:
            subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def verdict(old: list[float], new: list[float]) -> tuple[float, float, bool]:
    """Ratio of the best speeds (new to old), the noise (a share), and whether the new one is slower than the noise.

    The noise is the relative distance of the median round from the best one, the larger value of the two trees.
    """
    noise = max(1 - median(speeds) / max(speeds) for speeds in (old, new))
    ratio = max(new) / max(old)
    return ratio, noise, ratio < 1 - max(TOLERANCE, noise)


def compare(revision: str, names: list[str], rounds: int) -> bool:
    """Print one line per speed, and return whether none became slower."""
    speeds: dict[str, tuple[list[float], list[float]]] = {}
    with checked_out(revision) as other:
        for name in names:
            for _ in range(rounds):
                for side, root in enumerate((other, ROOT)):
                    for key, value in run(name, QUICK.get(name, []), root=root).items():
                        if key.endswith(SPEED):
                            speeds.setdefault(f"{name}: {key}", ([], []))[side].append(value)
    fine = True
    for key, (old, new) in speeds.items():
        if old and new:
            ratio, noise, slower = verdict(old, new)
            fine &= not slower
            print(f"{key}: {ratio:.2f} of {revision} (noise {noise:.0%})" + (" SLOWER" if slower else ""), flush=True)
    return fine


def main() -> int:
    """Compare the revisions, and return 1 if a benchmark became slower."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", nargs="?", default="HEAD")
    parser.add_argument("--bench", choices=benchmarks(), action="append")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(", ".join(f"{key} {value}" for key, value in describe().items()), flush=True)
    return 0 if compare(options.revision, options.bench or benchmarks(), options.rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
