"""The example of docs/table-client.md, as it stands there, in two programs at once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.source_tree import ROOT
from tests.table_client.small_coordinator import SmallCoordinator


def test_two_programs_share_the_work_of_the_example(tmp_path: Path) -> None:
    found = re.search(r"```python\n(.*?)```", (ROOT / "docs/table-client.md").read_text(), re.S)
    assert found is not None
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{found[1]}"
    home = tmp_path / ".rollcall"
    home.mkdir()
    with SmallCoordinator(home):
        running = [
            subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        reported = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    for partition in range(6):
        assert any(f"('albums', {partition})" in text for text in reported)
