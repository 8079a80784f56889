"""A real Kafka broker for tests, and the JARs of Spark's connector to it: fetched by Maven once, into build/.

Knows how to start and stop a broker; must not know a test.
"""

from __future__ import annotations

import base64
import subprocess
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.brief_java import BRIEF
from tests.fetching import fetch_jars, fetched_once, sums_of
from tests.ports import free_port
from tests.source_tree import ROOT
from tests.waiting import until

HERE = Path(__file__).parent
STARTED = "Kafka Server started"
# What the connector needs beside what Spark ships.
CONNECTOR_JARS = ("spark-sql-kafka", "spark-token-provider-kafka", "kafka-clients", "commons-pool2")


def fetched(name: str) -> Path:
    """The folder with the JARs that tests/peers_kafka/<name>/pom.xml names."""
    pom, folder = HERE / name / "pom.xml", ROOT / "build" / f"kafka-{name}"
    return fetched_once(folder, [pom, sums_of(pom)], lambda: fetch_jars(pom, folder))


def connector_jars() -> list[str]:
    """The paths of the connector's JARs."""
    folder = fetched("connector")
    return sorted(str(jar) for jar in folder.glob("*.jar") if jar.name.startswith(CONNECTOR_JARS))


class Broker:
    """A broker with its data in a folder, which may be stopped and started again at the same address.

    A folder that has a broker's data already is the same cluster again, at another address.
    """

    def __init__(
        self,
        folder: Path,
        more_settings: Mapping[str, object] | None = None,
        scram_users: Iterable[str] = (),
        requests_log: Path | None = None,
    ) -> None:
        """scram_users: as --add-scram. requests_log: where its request logger writes, at DEBUG; None: nowhere."""
        port, controller = free_port(), free_port()
        self.address = f"127.0.0.1:{port}"
        self._log, self._settings = folder / "broker.log", folder / "server.properties"
        self._settings.write_text(
            (HERE / "broker" / "server.properties").read_text()
            + f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n"
            + f"advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n"
            + f"controller.quorum.voters=1@127.0.0.1:{controller}\nlog.dirs={folder}/data\n"
            + "".join(f"{key}={value}\n" for key, value in (more_settings or {}).items())
        )
        self._java = [
            "java",
            *BRIEF,
            "-Xmx384m",
            f"-Dlog4j2.configurationFile={HERE / 'broker' / 'log4j2.properties'}",
            *([f"-Drequests.log={requests_log}", "-Drequests.level=debug"] if requests_log else []),
            "-cp",
            f"{fetched('broker')}/*",
        ]
        if not (folder / "data").exists():
            self._format(scram_users)

    def _format(self, scram_users: Iterable[str]) -> None:
        # Its first byte is zero, so that the text never begins with a dash, which the tool takes for an option.
        cluster_id = base64.urlsafe_b64encode(b"\0" + uuid.uuid4().bytes[1:]).decode().rstrip("=")
        storage = ["kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(self._settings)]
        storage += [word for user in scram_users for word in ("--add-scram", user)]
        subprocess.run([*self._java, *storage], check=True, stdout=subprocess.DEVNULL)

    def start(self) -> None:
        """Starts it and waits until it serves."""
        with self._log.open("a") as out:
            began = self._log.read_text().count(STARTED)
            self._process = subprocess.Popen([*self._java, "kafka.Kafka", str(self._settings)], stdout=out)

        def is_up() -> bool:
            assert self._process.poll() is None, self._log.read_text()
            return self._log.read_text().count(STARTED) > began

        try:
            until(is_up, "the broker", within_s=120)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(60)


@contextmanager
def broker(
    folder: Path,
    more_settings: Mapping[str, object] | None = None,
    scram_users: Iterable[str] = (),
    requests_log: Path | None = None,
) -> Iterator[str]:
    """A broker with its data in a folder; gives its address, and stops it in the end. The rest is as `Broker`'s."""
    running = Broker(folder, more_settings, scram_users, requests_log)
    running.start()
    try:
        yield running.address
    finally:
        running.stop()


def main() -> None:
    """A broker with its data in the folder that is named first, and with settings: `broker at host:port`.

    It ends when standard input does.
    """
    folder, *settings = sys.argv[1:]
    with broker(Path(folder), dict(setting.split("=", 1) for setting in settings)) as address:
        # Maven may have left a line that has no end.
        print(f"\nbroker at {address}", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
