"""What pods may do, in every combination of values that changes which pods there are."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.executor_pods import executor_pod
from tests.chart.pod_rules import Object, broken_rules, pods_in
from tests.chart.rendering import objects_of

CHOICES = (
    ((), ("gateway.enabled=true", "gateway.allowAnonymous=true"), ("gateway.enabled=true", "gateway.secret=users")),
    ((), ("page.enabled=false",), ("page.secret=users",)),
    ((), ("exporter.enabled=false",)),
    ((), ("credentialsSecret=store", "serviceMonitor.enabled=true")),
    ((), ("networkPolicy.enabled=false",), ("networkPolicy.monitoringNamespaces=null",)),
)
EVERYTHING = ("gateway.enabled=true", "gateway.secret=users", "page.secret=users")


def test_no_pod_may_do_more_than_it_needs_whatever_the_values() -> None:
    for choice in product(*CHOICES):
        values = [value for part in choice for value in part]
        objects = objects_of(*values)
        assert broken_rules(objects) == [], values
        expected = {"coordinator", "executor"}
        expected |= {"gateway"} if "gateway.enabled=true" in values else set()
        expected |= {"page"} - ({"page"} if "page.enabled=false" in values else set())
        expected |= {"exporter"} - ({"exporter"} if "exporter.enabled=false" in values else set())
        assert pods_in(objects).keys() == expected


def test_metrics_are_reached_from_the_monitoring_namespace_and_other_ports_as_their_services_are() -> None:
    policies = {
        each["metadata"]["name"]: each["spec"]["ingress"]
        for each in objects_of(*EVERYTHING, "networkPolicy.monitoringNamespaces[0].team=watch")
        if each["kind"] == "NetworkPolicy"
    }
    scraped = {"from": [{"namespaceSelector": {"matchLabels": {"team": "watch"}}}], "ports": [{"port": "metrics"}]}
    assert policies["mine-exporter"] == [scraped]
    assert policies["mine-gateway"] == [scraped, {"ports": [{"port": "kafka"}]}]
    assert policies["mine-page"] == [{"ports": [{"port": "page"}]}]
    assert policies["mine-coordinator"][0] == scraped
    (to_driver,) = policies["mine-coordinator"][1:]
    (to_executor,) = policies["mine-executor"]
    assert to_driver.keys() == to_executor.keys() == {"from"}
    executors, drivers = to_driver["from"][0], to_executor["from"]
    assert executors in drivers
    assert len(drivers) == 2


def test_sizes_are_those_of_the_values() -> None:
    pods = pods_in(objects_of("sizeLimits.work=1Gi", "sizeLimits.temporary=2Gi", "sizeLimits.executor=3Gi"))
    for pod in pods.values():
        limits = {each["name"]: each["emptyDir"]["sizeLimit"] for each in pod["spec"]["volumes"] if "emptyDir" in each}
        assert limits == {"work": "1Gi", "temporary": "2Gi"}
    words = pods["coordinator"]["spec"]["containers"][0]["args"]
    option = "--conf=spark.kubernetes.executor.volumes.emptyDir.spark-local-dir-1.options.sizeLimit=3Gi"
    assert option in words


@pytest.mark.parametrize("values", [(), ("credentialsSecret=store",)])
def test_spark_makes_executors_that_may_do_no_more(tmp_path: Path, values: tuple[str, ...]) -> None:
    objects = objects_of(*values)
    data = next(each for each in objects if each["kind"] == "ConfigMap")["data"]
    template = tmp_path / "executor.yaml"
    template.write_text(data["executor.yaml"])
    words = container(pods_in(objects)["coordinator"])["args"]
    settings = dict(word.removeprefix("--conf=").split("=", 1) for word in words if word.startswith("--conf="))
    # The driver's pod is asked for at the API.
    del settings["spark.kubernetes.driver.pod.name"]
    pod = executor_pod(settings | {"spark.kubernetes.executor.podTemplateFile": str(template), "spark.app.name": "x"})
    data["executor.yaml"] = "apiVersion: v1\nkind: Pod\n" + yaml.safe_dump({k: pod[k] for k in ("metadata", "spec")})
    assert broken_rules(objects) == []
    made = container(pod)
    mounted = {each["mountPath"]: each["name"] for each in made["volumeMounts"]}
    writable = {each["name"] for each in pod["spec"]["volumes"] if "emptyDir" in each}
    assert {mounted[path] for path in ("/tmp", "/var/lib/rollcall", "/var/data/spark")} == writable
    assert made["workingDir"] == "/var/lib/rollcall"
    assert {each["name"]: each.get("value") for each in made["env"]}["SPARK_LOCAL_DIRS"] == "/var/data/spark"
    assert made.get("envFrom", []) == [{"secretRef": {"name": "store"}} for _ in values]


def container(pod: Object) -> Any:
    return pod["spec"]["containers"][0]


SPOILT: dict[str, Callable[[Object], object]] = {
    "mounts a token": lambda pod: pod["spec"].pop("automountServiceAccountToken"),
    "has no account": lambda pod: pod["spec"].update(serviceAccountName="default"),
    "may do what the driver may": lambda pod: pod["spec"].update(serviceAccountName="mine"),
    "shares a namespace": lambda pod: pod["spec"].update(hostNetwork=True),
    "of its node": lambda pod: pod["spec"]["volumes"].append({"name": "node", "hostPath": {"path": "/"}}),
    "may hold a token": lambda pod: pod["spec"]["volumes"].append({"name": "t", "projected": {}}),
    "no size limit": lambda pod: pod["spec"]["volumes"].append({"name": "more", "emptyDir": {}}),
    "may run as root": lambda pod: pod["spec"]["securityContext"].pop("runAsNonRoot"),
    "the runtime forbids": lambda pod: pod["spec"]["securityContext"].pop("seccompProfile"),
    "privileges": lambda pod: container(pod)["securityContext"].update(privileged=True),
    "write its root": lambda pod: container(pod)["securityContext"].pop("readOnlyRootFilesystem"),
    "capabilities": lambda pod: container(pod)["securityContext"]["capabilities"].update(add=["NET_ADMIN"]),
    "begin may": lambda pod: pod["spec"].update(initContainers=[{"name": "begin"}]),
    "policies say": lambda pod: pod["metadata"]["labels"].clear(),
}


@pytest.mark.parametrize("says", SPOILT)
@pytest.mark.parametrize("name", ["gateway", "executor"])
def test_a_pod_that_may_do_more_is_found(name: str, says: str) -> None:
    objects = copy.deepcopy(objects_of(*EVERYTHING))
    pod = pods_in(objects)[name]
    if says == "policies say" and name == "gateway":
        pod["metadata"]["labels"].pop("app.kubernetes.io/instance")
    else:
        SPOILT[says](pod)
    for each in objects:
        if name == "executor" and "executor.yaml" in (each.get("data") or {}):
            head = {"apiVersion": "v1", "kind": "Pod"}
            each["data"]["executor.yaml"] = yaml.safe_dump(head) + yaml.safe_dump(
                {k: pod[k] for k in pod.keys() - head}
            )
    assert any(says in sentence for sentence in broken_rules(objects))
