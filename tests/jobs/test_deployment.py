"""The files of a deployment: the image's commands and its entrance, and its health check."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyspark
import pytest

from rollcall.programs.version import VERSION
from tests.source_tree import ROOT

ENTRANCE = ROOT / "conf" / "image" / "entrypoint.sh"
GIVEN_BY_SPARK = {
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
    """What the entrance runs, word by word; its java and its Python are stand-ins that print what they are given."""
    java, python = folder / "java", folder / "python"
    java.write_text("#!/bin/sh\nprintf '%s\\n' java \"$@\"\n")
    python.write_text("#!/bin/sh\necho /spark/jars\n")
    for program in (java, python):
        program.chmod(0o755)
    known = {"PATH": f"{folder}:{os.environ['PATH']}", "PYSPARK_PYTHON": str(python)}
    done = subprocess.run([str(ENTRANCE), *words], env={**known, **environ}, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_container_is_the_executor_that_spark_asks_for(tmp_path: Path) -> None:
    words = entered(tmp_path, "executor", **GIVEN_BY_SPARK)
    assert words[:3] == ["java", "-Dspark.driver.port=7078", "-Dsome.words=two words"]
    assert words[3:5] == ["-Xms4g", "-Xmx4g"]
    assert words[words.index("-cp") + 1] == ":/spark/jars/*:"
    backend = words.index("org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend")
    assert dict(zip(words[backend + 1 :: 2], words[backend + 2 :: 2], strict=True)) == {
        "--driver-url": GIVEN_BY_SPARK["SPARK_DRIVER_URL"],
        "--executor-id": "3",
        "--cores": "4",
        "--app-id": "spark-1",
        "--hostname": "10.0.0.7",
        "--resourceProfileId": "0",
        "--podName": "rollcall-exec-3",
    }


def test_an_executor_that_is_given_too_little_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        entered(
            tmp_path,
            "executor",
            **{name: value for name, value in GIVEN_BY_SPARK.items() if name != "SPARK_DRIVER_URL"},
        )
    assert "SPARK_DRIVER_URL" in failed.value.stderr


def test_any_other_command_runs_as_it_stands(tmp_path: Path) -> None:
    assert entered(tmp_path, "printf", "%s\\n", "a b", "c") == ["a b", "c"]


def test_spark_has_what_the_entrance_starts() -> None:
    jars = Path(pyspark.__file__).parent / "jars"
    assert len(list(jars.glob("spark-kubernetes_*.jar"))) == 1


def test_each_logger_that_is_kept_quiet_is_a_class_of_sparks() -> None:
    named = re.findall(r"^logger\.\w+\.name = (.+)$", (ROOT / "conf" / "log4j2.properties").read_text(), re.MULTILINE)
    # The connector's loggers, and Kafka's, are not in pyspark's JARs.
    wanted = {f"{name.replace('.', '/')}.class" for name in named if "kafka" not in name}
    assert len(wanted) > 5
    for jar in (Path(pyspark.__file__).parent / "jars").glob("*.jar"):
        wanted -= set(zipfile.ZipFile(jar).namelist())
    assert not wanted


@pytest.fixture
def serving() -> Iterator[ThreadingHTTPServer]:
    """Answers /health with its `status`."""

    class Health(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(self.server.status)  # type: ignore[attr-defined]
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Health)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def checked(home: Path, *places: str) -> tuple[int, str]:
    """The health check's exit status, and what it says."""
    command = [sys.executable, str(ROOT / "conf" / "image" / "health.py"), *places]
    done = subprocess.run(
        command, env={**os.environ, "ROLLCALL_HOME": str(home)}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr.strip()


def test_a_container_is_well_while_each_health_that_it_serves_is(tmp_path: Path, serving: ThreadingHTTPServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = f"127.0.0.1:{closed.getsockname()[1]}"
    place = f"127.0.0.1:{serving.server_address[1]}"
    serving.status = 200  # type: ignore[attr-defined]
    assert checked(tmp_path, place, nobody) == (0, "")
    serving.status = 503  # type: ignore[attr-defined]
    assert checked(tmp_path, nobody, place) == (1, f"http://{place}/health answers 503.")


@pytest.mark.parametrize(
    ("status", "exit_status"),
    [
        ({"state": "running", "process": os.getpid()}, 0),
        ({"state": "stopped", "process": os.getpid()}, 1),
        ({"state": "running", "process": 2**22 - 1}, 1),
        ({"state": "running"}, 1),
        ([], 1),
        (None, 1),
    ],
)
def test_a_container_that_serves_no_health_is_well_while_its_homes_job_runs(
    tmp_path: Path, status: object, exit_status: int
) -> None:
    if status is not None:
        (tmp_path / "status.json").write_text(json.dumps(status))
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = f"127.0.0.1:{closed.getsockname()[1]}"
    found, says = checked(tmp_path, nobody)
    assert found == exit_status, says
    assert "Traceback" not in says


def test_image_and_chart_are_of_this_version() -> None:
    chart = (ROOT / "conf" / "helm" / "Chart.yaml").read_text()
    assert re.findall(r"^(?:version|appVersion): (.+)$", chart, re.MULTILINE) == [VERSION, VERSION]
    for file in ("conf/image/Dockerfile", "docs/deploying.md"):
        assert set(re.findall(r"rollcall:(\d+\.\d+\.\d+)", (ROOT / file).read_text())) == {VERSION}


SUBMITTED = """
import runpy, sys
import rollcall.programs.command_line
rollcall.programs.command_line.run_command = lambda *_: __import__("rollcall.serve.exporter.serving") and 0
sys.path.insert(0, "jobs")
runpy.run_path("jobs/coordinator.py", run_name="__main__")
"""


def test_a_submitted_job_that_serves_its_groups_finds_packages_that_its_folder_has_modules_of() -> None:
    done = subprocess.run([sys.executable, "-c", SUBMITTED], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
