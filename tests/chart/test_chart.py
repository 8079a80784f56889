"""The Helm chart: linted, rendered, each object held to Kubernetes' schemas, and its settings to the job's."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from rollcall.jobs.config import load_config
from tests.chart.kubernetes_schemas import write_schemas
from tests.chart.rendering import CHART, KUBERNETES, TOOLS, helm, objects_of, rendered
from tests.source_tree import ROOT

EVERYTHING = (
    "gateway.enabled=true",
    "serviceMonitor.enabled=true",
    "serviceMonitor.labels.release=prometheus",
    "credentialsSecret=store",
    "nodeSelector.disk=ssd",
    "coordinator.sparkConf.spark\\.hadoop\\.fs\\.s3a\\.endpoint=http://minio:9000",
)
RENDERED = {
    "as it comes": (),
    "with all there is": (*EVERYTHING, "gateway.allowAnonymous=true", "page.secret=users"),
    "with users": (*EVERYTHING, "gateway.secret=users", "gateway.topics=clicks:12"),
}


@pytest.mark.parametrize("values", RENDERED.values(), ids=RENDERED)
def test_helm_finds_nothing_wrong(values: tuple[str, ...]) -> None:
    flags = [word for value in values for word in ("--set", value)]
    done = helm("lint", "--strict", "--kube-version", KUBERNETES[-1], str(CHART), *flags)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module", params=KUBERNETES)
def schemas(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A version of Kubernetes, and where its schemas are."""
    operator = Path((TOOLS / "operator").read_text().strip())
    folder = tmp_path_factory.mktemp("schemas") / "all"
    return request.param, write_schemas(TOOLS / "packages", operator, request.param, folder)


def conforms(objects: str, schemas: tuple[str, str]) -> subprocess.CompletedProcess[str]:
    command = [str(TOOLS / "bin" / "kubeconform"), "-strict", "-summary", "-schema-location", schemas[1], "-"]
    return subprocess.run(command, input=objects, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("values", RENDERED.values(), ids=RENDERED)
def test_every_object_is_one_of_kubernetes(values: tuple[str, ...], schemas: tuple[str, str]) -> None:
    objects = rendered(*values, version=schemas[0])
    done = conforms(objects, schemas)
    assert done.returncode == 0, done.stdout
    count = sum(line.startswith("kind: ") for line in objects.splitlines())
    assert f"Valid: {count}, Invalid: 0, Errors: 0, Skipped: 0" in done.stdout


def test_a_field_that_kubernetes_does_not_know_is_found(schemas: tuple[str, str]) -> None:
    objects = rendered("serviceMonitor.enabled=true", version=schemas[0])
    for right, typo in (("startupProbe:", "startProbe:"), ("publishNotReadyAddresses:", "publishAll:")):
        done = conforms(objects.replace(right, typo), schemas)
        assert done.returncode == 1
        assert typo.rstrip(":") in done.stdout


def test_the_monitor_chooses_the_metrics_service_alone_and_that_every_program() -> None:
    objects = objects_of(*RENDERED["with users"])
    chosen = next(each for each in objects if each["kind"] == "ServiceMonitor")["spec"]["selector"]["matchLabels"]
    services = [each for each in objects if each["kind"] == "Service"]
    (service,) = [each for each in services if chosen.items() <= each["metadata"]["labels"].items()]
    pods = [each["spec"]["template"] for each in objects if each["kind"] == "Deployment"]
    looked_at = [
        pod["metadata"]["labels"]["app.kubernetes.io/component"]
        for pod in pods
        if service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
        and any(port["name"] == "metrics" for port in pod["spec"]["containers"][0]["ports"])
    ]
    assert sorted(looked_at) == ["coordinator", "exporter", "gateway"]
    for pod in pods:
        (container,) = pod["spec"]["containers"]
        assert container["livenessProbe"], pod
        assert container["securityContext"]["readOnlyRootFilesystem"]


def test_its_settings_are_the_jobs_and_its_commands_are_there(tmp_path: Path) -> None:
    text = rendered()
    settings = next(each for each in yaml.safe_load_all(text) if each and each["kind"] == "ConfigMap")
    (tmp_path / "cluster.conf").write_text(settings["data"]["cluster.conf"])
    config = load_config(tmp_path / "cluster.conf")
    assert (config.source, str(config.metrics_listen), config.log_format) == ("kafka", "0.0.0.0:9465", "json")
    for name in set(re.findall(r"\b(?:conf|jobs)/[a-z-]+\.(?:conf|py)\b", text)):
        assert (ROOT / name).is_file()


def test_metrics_are_served_under_the_names_of_the_service_and_those_of_the_settings(tmp_path: Path) -> None:
    for listed in ("", "prometheus.example"):
        text = rendered(*([f"settings.rollcall\\.metrics\\.hosts={listed}"] if listed else []))
        data = next(each for each in yaml.safe_load_all(text) if each and each["kind"] == "ConfigMap")["data"]
        for name in ("cluster.conf", "secret.conf"):
            (tmp_path / name).write_text(data[name])
        names = ["mine-metrics", "mine-metrics.default", "mine-metrics.default.svc"]
        hosts = load_config(tmp_path / "cluster.conf").metrics_hosts
        assert hosts == (*names, "mine-metrics.default.svc.cluster.local", *filter(None, [listed]))
        assert load_config(tmp_path / "secret.conf").metrics_hosts == hosts


def test_a_gateway_that_would_let_anybody_in_is_refused_until_that_is_wanted() -> None:
    done = helm("template", "mine", str(CHART), "--kube-version", KUBERNETES[-1], "--set", "gateway.enabled=true")
    assert done.returncode != 0
    assert "gateway.secret names no Secret with users and TLS" in done.stderr
