"""Every notebook runs from its first cell to its last, and is committed with the output of such a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import KernelManager, start_new_kernel
from nbclient import NotebookClient
from nbformat import NotebookNode

from tests.source_tree import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
WITHIN_S = 600

# What a reader must find in the outputs.
SHOWN = {
    "01-live-groups": ["orders-2", "session_expired", "member_joined", "orders-4, orders-5", "Stable", "Empty"],
    "02-incident-at-0312": [
        "parity: 100.000%",
        "session_expired",
        "clicks-agg-1 on 127.0.1.15 sent no heartbeat within its session timeout (10 s) and was removed",
        "Nobody consumed for 2 ms",
        "[clicks-1, clicks-4]",
    ],
    "03-what-if": [
        "fidelity of the baseline: 100.0%",
        "static=true",
        "session.timeout.ms=45000",
        "consumer-checkout-1#8",
    ],
}


def outputs_of(notebook: NotebookNode) -> str:
    """All outputs of a notebook's cells as text."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return "\n".join(str(output.get("data", {}).get("text/plain", output.get("text", ""))) for output in outputs)


@pytest.fixture(scope="module")
def kernel() -> Iterator[KernelManager]:
    """One kernel for all notebooks: its JVM starts and warms up once, each notebook begins with nothing defined."""
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(ROOT / "notebooks"))
    client.stop_channels()
    yield manager
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_promises(path: Path, kernel: KernelManager) -> None:
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))
    NotebookClient(notebook, km=kernel, timeout=WITHIN_S).execute()
    shown = outputs_of(notebook)
    assert [wanted for wanted in SHOWN[path.stem] if wanted not in shown] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_committed_with_the_output_of_one_whole_run(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not [output for cell in code for output in cell.outputs if output.output_type == "error"]
    shown = outputs_of(notebook)
    assert [wanted for wanted in SHOWN[path.stem] if wanted not in shown] == []
    assert str(ROOT) not in path.read_text()
    assert str(Path.home()) not in path.read_text()


def test_there_is_a_notebook_for_everything_shown() -> None:
    assert {path.stem for path in NOTEBOOKS} == SHOWN.keys()
