"""Kubernetes' schemas as kubeconform reads them, with that of the Prometheus Operator's ServiceMonitor.

Both come from packages, since no test fetches a file from elsewhere: `kubernetes-validate` carries Kubernetes' own, the
operator's Go module its CRD. Knows how these lie in the packages; must not know the chart.
"""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = "kubernetes_validate/kubernetes-json-schema/v{version}.0-local-strict"
DEFINITIONS = "/api/_definitions.json"
"""What the package's schemas refer to, by a path of their maker's machine."""
CRD = "jsonnet/prometheus-operator/servicemonitors-crd.json"


def write_schemas(package: Path, operator: Path, version: str, folder: Path) -> str:
    """Writes the schemas into the folder; returns kubeconform's -schema-location. version: Kubernetes' own, 1.34."""
    folder.mkdir(parents=True)
    for schema in (package / FOLDER.format(version=version)).glob("*.json"):
        content = json.loads(schema.read_text().replace(DEFINITIONS, "_definitions.json"))
        # Without its address what it refers to is looked for beside it, and not on the network.
        content.pop("$id", None)
        (folder / schema.name).write_text(json.dumps(content))
    found = next(each for each in json.loads((operator / CRD).read_text())["spec"]["versions"] if each["name"] == "v1")
    monitor = found["schema"]["openAPIV3Schema"]
    (folder / "servicemonitor-monitoring-v1.json").write_text(json.dumps({**monitor, "additionalProperties": False}))
    return f"{folder}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
