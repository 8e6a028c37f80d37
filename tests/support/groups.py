"""Groups of users, for tests of files that are shared."""

from __future__ import annotations

import os

import pytest


def another_group() -> int:
    """A group that the user belongs to and new files do not get. Skips the test if there is none."""
    if os.geteuid() == 0:
        return 12345
    others = [group for group in os.getgroups() if group != os.getegid()]
    if not others:
        pytest.skip("this user is in one group only")
    return others[0]
