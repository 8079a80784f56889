"""The files of a deployment: the image's commands and its entrance, and the settings of the Kubernetes manifest."""

from __future__ import annotations

import os
import re
import subprocess
import textwrap
from pathlib import Path

import pyspark
import pytest

from jobs.config import load_config
from jobs.spark.jars import KAFKA_JAR_NAMES
from tests.source_tree import ROOT

ENTRANCE = ROOT / "conf" / "image" / "entrypoint.sh"
TOLD = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.1:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "4",
    "SPARK_EXECUTOR_MEMORY": "4g",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.7",
    "SPARK_EXECUTOR_POD_NAME": "rollcall-exec-3",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_JAVA_OPT_0": "-Dspark.driver.port=7078",
    "SPARK_JAVA_OPT_1": "-Dsome.words=two words",
}


def entered(folder: Path, *words: str, **environ: str) -> list[str]:
    """What the entrance runs, word by word; its java and its Python are stand-ins that tell what they are given."""
    java, python = folder / "java", folder / "python"
    java.write_text("#!/bin/sh\nprintf '%s\\n' java \"$@\"\n")
    python.write_text("#!/bin/sh\necho /spark/jars\n")
    for program in (java, python):
        program.chmod(0o755)
    known = {"PATH": f"{folder}:{os.environ['PATH']}", "PYSPARK_PYTHON": str(python)}
    done = subprocess.run([str(ENTRANCE), *words], env={**known, **environ}, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_container_is_an_executor_as_spark_tells_it(tmp_path: Path) -> None:
    words = entered(tmp_path, "executor", **TOLD)
    assert words[:3] == ["java", "-Dspark.driver.port=7078", "-Dsome.words=two words"]
    assert words[3:5] == ["-Xms4g", "-Xmx4g"]
    assert words[words.index("-cp") + 1] == ":/spark/jars/*:"
    backend = words.index("org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend")
    assert dict(zip(words[backend + 1 :: 2], words[backend + 2 :: 2], strict=True)) == {
        "--driver-url": TOLD["SPARK_DRIVER_URL"],
        "--executor-id": "3",
        "--cores": "4",
        "--app-id": "spark-1",
        "--hostname": "10.0.0.7",
        "--resourceProfileId": "0",
        "--podName": "rollcall-exec-3",
    }


def test_an_executor_that_is_told_too_little_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        entered(tmp_path, "executor", **{name: value for name, value in TOLD.items() if name != "SPARK_DRIVER_URL"})
    assert "SPARK_DRIVER_URL" in failed.value.stderr


def test_any_other_command_runs_as_it_stands(tmp_path: Path) -> None:
    assert entered(tmp_path, "printf", "%s\\n", "a b", "c") == ["a b", "c"]


def test_spark_has_what_the_entrance_starts() -> None:
    jars = Path(pyspark.__file__).parent / "jars"
    assert len(list(jars.glob("spark-kubernetes_*.jar"))) == 1


def test_the_image_has_each_connector_once() -> None:
    # The image links what begins with another letter than the copy for internal topics.
    assert "kafka/[!w]*.jar" in (ROOT / "conf" / "image" / "Dockerfile").read_text()
    assert all(not name.startswith("w") for name in KAFKA_JAR_NAMES)


def test_the_manifests_settings_are_the_jobs(tmp_path: Path) -> None:
    manifest = (ROOT / "conf" / "kubernetes.yaml").read_text()
    found = re.search(r"^  cluster\.conf: \|\n((?:    .*\n)+)", manifest, re.MULTILINE)
    assert found is not None
    settings = tmp_path / "cluster.conf"
    settings.write_text(textwrap.dedent(found.group(1)))
    config = load_config(settings)
    assert (config.source, str(config.metrics_listen), config.log_format) == ("kafka", "0.0.0.0:9465", "json")
    assert f"containerPort: {config.metrics_listen.port if config.metrics_listen else 0}" in manifest
    for name in re.findall(r"(?:conf|jobs)/[a-z-]+\.(?:conf|py)", manifest):
        assert (ROOT / name).is_file()
