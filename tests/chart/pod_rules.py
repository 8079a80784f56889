"""What holds for every pod of the chart, whatever its values: who may do what in Kubernetes, and on a node.

Knows Kubernetes' objects as rendered. Must not know how the chart writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

Object = dict[str, Any]
MAKES_PODS = "coordinator"
"""The only component with a token."""


def pods_in(objects: list[Object]) -> dict[str, Object]:
    """Return each pod's template by its component: those of Deployments, and Spark's of executors."""
    found = {}
    for each in objects:
        template = each.get("spec", {}).get("template")
        if template is not None:
            found[template["metadata"]["labels"]["app.kubernetes.io/component"]] = template
        for text in (each.get("data") or {}).values():
            if text.startswith("apiVersion: v1\nkind: Pod\n"):
                found["executor"] = yaml.safe_load(text)
    return found


def broken_rules(objects: list[Object]) -> list[str]:
    """Return a sentence for each rule that a pod breaks."""
    return [
        *(f"{name}: {why}" for name, pod in pods_in(objects).items() for why in _of_pod(name, pod["spec"])),
        *_of_accounts(objects),
        *_of_network(objects),
    ]


def _of_pod(name: str, spec: Object) -> Iterator[str]:
    if spec.get("automountServiceAccountToken") is not (name == MAKES_PODS):
        yield "mounts a token, or the driver none"
    if spec.get("hostNetwork") or spec.get("hostPID") or spec.get("hostIPC"):
        yield "shares a namespace of its node"
    security = spec.get("securityContext", {})
    if not security.get("runAsNonRoot") or not security.get("runAsUser"):
        yield "may run as root"
    for volume in spec["volumes"]:
        if "hostPath" in volume:
            yield f"mounts {volume['name']} of its node"
        if "projected" in volume:
            yield f"mounts {volume['name']}, which may hold a token"
        if "emptyDir" in volume and not (volume["emptyDir"] or {}).get("sizeLimit"):
            yield f"{volume['name']} has no size limit"
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(kind, []):
            yield from (f"{container['name']} {why}" for why in _of_container(container, security))


def _of_container(container: Object, of_pod: Object) -> Iterator[str]:
    own = container.get("securityContext", {})
    if own.get("privileged") is not False or own.get("allowPrivilegeEscalation") is not False:
        yield "may have or get privileges"
    if own.get("readOnlyRootFilesystem") is not True:
        yield "may write its root"
    capabilities = own.get("capabilities", {})
    if capabilities.get("drop") != ["ALL"] or capabilities.get("add"):
        yield "has capabilities"
    if (own.get("seccompProfile") or of_pod.get("seccompProfile") or {}).get("type") != "RuntimeDefault":
        yield "may call what the runtime forbids"
    if own.get("runAsUser", 1) == 0 or own.get("runAsNonRoot", True) is not True:
        yield "may run as root"


def _of_accounts(objects: list[Object]) -> Iterator[str]:
    accounts = {each["metadata"]["name"]: each for each in objects if each["kind"] == "ServiceAccount"}
    for name, account in accounts.items():
        if account.get("automountServiceAccountToken") is not False:
            yield f"account {name}: its token is mounted unless a pod says otherwise"
    bindings = [each for each in objects if each["kind"] in ("RoleBinding", "ClusterRoleBinding")]
    mighty = {subject["name"] for each in bindings for subject in each["subjects"]}
    for name, pod in pods_in(objects).items():
        account = pod["spec"].get("serviceAccountName")
        if account not in accounts:
            yield f"{name}: has no account of its own"
        if (account in mighty) is not (name == MAKES_PODS):
            yield f"{name}: may do what the driver may, or the driver may not"
    for each in objects:
        if each["kind"].startswith("Cluster") or (each["kind"] == "Role" and "*" in str(each["rules"])):
            yield f"{each['kind']} {each['metadata']['name']}: allows more than pods of one namespace"


def _of_network(objects: list[Object]) -> Iterator[str]:
    policies = [each["spec"] for each in objects if each["kind"] == "NetworkPolicy"]
    for name, pod in pods_in(objects).items() if policies else ():
        of_pod = [each for each in policies if _is_chosen(each, pod)]
        if len(of_pod) != 1 or of_pod[0]["policyTypes"] != ["Ingress"]:
            yield f"{name}: {len(of_pod)} policies say who reaches it"
        for rule in (rule for each in of_pod for rule in each["ingress"]):
            ports = {port["port"] for port in rule.get("ports", [])}
            sources = rule.get("from", [])
            if not ports and any("namespaceSelector" in source or "ipBlock" in source for source in sources):
                yield f"{name}: every port is open beyond the release"
            if not sources and (not ports or "metrics" in ports):
                yield f"{name}: metrics are open to everybody"
            known = {port["name"] for container in pod["spec"]["containers"] for port in container.get("ports", [])}
            if not ports <= known:
                yield f"{name}: a policy opens a port that it has not"


def _is_chosen(policy: Object, pod: Object) -> bool:
    labels: Object = pod["metadata"]["labels"]
    chosen: Object = policy["podSelector"]["matchLabels"]
    return bool(chosen.items() <= labels.items())
