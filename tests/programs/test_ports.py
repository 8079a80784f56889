"""A port that was given to one server is given to no other, in this process or beside it."""

from __future__ import annotations

import subprocess
import sys

from tests.ports import END, free_port
from tests.source_tree import ROOT


def test_a_port_is_given_once_also_by_another_process() -> None:
    here = [free_port() for _ in range(3)]
    asks = "from tests.ports import free_port; print(free_port())"
    beside = subprocess.run([sys.executable, "-c", asks], cwd=ROOT, capture_output=True, text=True, check=True)
    given = [*here, int(beside.stdout)]
    assert len(set(given)) == 4
    assert max(given) < END
