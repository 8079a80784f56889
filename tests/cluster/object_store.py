"""An S3 endpoint for tests, moto's server, and Hadoop's connector to it: fetched once, into build/.

Knows how to start and stop the endpoint and how Spark and delta-rs reach it; must not know a test.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import Request, urlopen

from tests.fetching import fetched_once
from tests.ports import free_port
from tests.source_tree import ROOT
from tests.waiting import until

HERE = Path(__file__).parent / "object_store"
_PROVIDED = ("slf4j-api", "commons-logging")
"""What Spark ships as well."""


def connector_jars() -> list[str]:
    """The paths of the connector's JARs."""
    pom, folder = HERE / "pom.xml", ROOT / "build" / "object-store-jars"

    def fetch() -> None:
        copy = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
        subprocess.run(["mvn", "-q", "-B", "-f", str(pom), *copy], check=True)

    jars = fetched_once(folder, [pom], fetch).glob("*.jar")
    return sorted(str(jar) for jar in jars if not jar.name.startswith(_PROVIDED))


def _server_program() -> Path:
    """moto's server, in an environment of its own: its packages are none of the product's."""
    pins, folder = HERE / "requirements.txt", ROOT / "build" / "object-store-server"

    def fetch() -> None:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "-q", "install"]
        subprocess.run([*pip, "-r", str(pins)], check=True)

    return fetched_once(folder, [pins], fetch) / "bin" / "python"


class ObjectStore(NamedTuple):
    """A running endpoint."""

    url: str

    def spark_settings(self) -> dict[str, str]:
        """How Spark reaches it."""
        return {
            "spark.hadoop.fs.s3a.endpoint": self.url,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.access.key": "tester",
            "spark.hadoop.fs.s3a.secret.key": "opensesame",
        }

    def delta_options(self) -> dict[str, str]:
        """How delta-rs reaches it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "tester",
            "AWS_SECRET_ACCESS_KEY": "opensesame",
        }

    def make_bucket(self, name: str) -> None:
        self._ask("PUT", f"/{name}")

    def refuse_everybody(self) -> None:
        """From now on whoever asks needs a user that is known, and none is."""
        self._ask("POST", "/moto-api/reset-auth", b"0")

    def environ(self) -> dict[str, str]:
        """How programs that read a home without Spark reach it."""
        return {**self.delta_options(), "AWS_EC2_METADATA_DISABLED": "true"}

    def fail(self, **faults: float) -> None:
        """refuse_s: how long the store answers 503; slow_s: by how much each answer takes longer."""
        self._ask("POST", "/faults", json.dumps(faults).encode())

    def faults(self) -> dict[str, int]:
        """How many requests it has `refused` and `slowed` so far."""
        counts: dict[str, int] = json.loads(self._ask("POST", "/faults", b"{}"))
        return counts

    def _ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        # Without a type of content the body would be taken for a form's fields.
        headers = {"Content-Type": "text/plain"}
        with urlopen(Request(f"{self.url}{path}", body, headers, method=method), timeout=30) as answer:
            return bytes(answer.read())


@contextmanager
def object_store(folder: Path) -> Iterator[ObjectStore]:
    """An endpoint that keeps everything in memory. folder: where its log lies."""
    program, port = _server_program(), free_port()
    store = ObjectStore(f"http://127.0.0.1:{port}")
    log = folder / "object-store.log"
    with log.open("w") as out:
        command = [str(program), str(HERE.parent / "failing_store.py"), "127.0.0.1", str(port)]
        with subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT) as process:

            def is_up() -> bool | None:
                assert process.poll() is None, log.read_text()
                try:
                    with urlopen(f"{store.url}/moto-api/data.json", timeout=5):
                        return True
                except URLError:
                    return None

            try:
                until(is_up, "the object store", within_s=60)
                yield store
            finally:
                process.terminate()
                process.wait(30)
