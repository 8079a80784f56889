"""The chart, rendered by helm. Must not know what is in it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.source_tree import ROOT

CHART = ROOT / "conf" / "helm"
TOOLS = Path(os.environ.get("CHART_TOOLS", ROOT / "build" / "chart"))
"""Where `make test-chart` puts helm, kubeconform and the schemas' packages."""
KUBERNETES = ("1.25", "1.37")
"""The oldest that Chart.yaml names, and the newest that there are schemas of."""


def helm(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOOLS / "bin" / "helm", *words], capture_output=True, text=True, check=False)


def rendered(*values: str, version: str = KUBERNETES[-1]) -> str:
    flags = [word for value in values for word in ("--set", value)]
    done = helm("template", "mine", str(CHART), "--kube-version", version, *flags)
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects_of(*values: str) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(rendered(*values)) if each]
