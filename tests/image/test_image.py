"""The image is built, and its coordinator, gateway, page and shadow run the demo without any other network."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

import pytest

from tests.image.built import NOBODY, Buildah, Pod, missing
from tests.source_tree import ROOT
from tests.waiting import until

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"this machine has no {missing()}")

HOME, FOLLOWED = "/var/lib/rollcall/home", "/var/lib/rollcall/followed"
SETTINGS = "spark.coordinator.metrics.listen=127.0.0.1:9465\n"
WITHIN_S = 120.0
LOG = ROOT / "tests" / "captures" / "d-kill" / "requests.log.gz"
ASKED = "select cause, members_after from rebalances where group_id = '{group}' and outcome = 'completed'"


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Buildah:
    folder = tmp_path_factory.mktemp("buildah")
    made = Buildah(folder)
    made.make_base(folder)
    made.build(folder)
    return made


@pytest.fixture(scope="module")
def pod(buildah: Buildah, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pod]:
    made = Pod(buildah, tmp_path_factory.mktemp("pod"))
    try:
        yield made
    finally:
        made.close()


def rows(pod: Pod, home: str, question: str) -> list[dict[str, object]]:
    done = pod.ask("rollcall", "sql", "--home", home, "--format", "json", question)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_image_runs_as_nobody_and_has_a_health_check(buildah: Buildah) -> None:
    config = buildah.config()
    assert config["User"] == f"{NOBODY}:{NOBODY}"
    assert config["Healthcheck"]["Test"][-1].endswith("health.py")
    assert config["Entrypoint"][0] == "tini"


def test_a_pod_reaches_itself_alone_and_is_nobody(pod: Pod) -> None:
    done = pod.ask("sh", "-c", "id -u; tail -n +3 /proc/net/dev | cut -d: -f1; touch /opt/rollcall/mine")
    assert done.stdout.split() == [str(NOBODY), "lo"]
    assert "Permission denied" in done.stderr
    assert pod.health().returncode == 1


def test_coordinator_gateway_page_and_shadow_run_the_demo(pod: Pod) -> None:
    (pod.volume / "job.conf").write_text(SETTINGS)
    (pod.volume / "requests.log").write_bytes(gzip.decompress(LOG.read_bytes()))
    settings = "/var/lib/rollcall/job.conf"
    job = pod.start("coordinator", "python", "-m", "rollcall.jobs.coordinator", "--conf", settings, "--home", HOME)
    until(lambda: "the coordinator runs on" in job.said(), job.said, WITHIN_S)
    gateway = pod.start("gateway", "rollcall", "gateway", "--topics", "payments:6,orders:8,returns:4,audit:4")
    page = pod.start("page", "rollcall", "page")
    for started, says in ((gateway, "the gateway listens on"), (page, "the page is at")):
        until(lambda started=started, says=says: says in started.said(), started.said, WITHIN_S)  # type: ignore[misc]

    fleet = "python -m rollcall.cli.run.demo_fleet --bootstrap 127.0.0.1:9092 --group payments"
    pod.start("fleet", *fleet.split())
    asked = ASKED.format(group="payments")
    found = until(lambda: rows(pod, HOME, asked), lambda: gateway.said() + job.said(), WITHIN_S, every_s=1.0)
    assert found == [{"cause": "member_joined", "members_after": 2}]
    shown = pod.ask("python", "-c", "import urllib.request as r; print(r.urlopen('http://127.0.0.1:8080/').read())")
    assert "payments" in shown.stdout

    shadow = pod.start("shadow", "rollcall", "shadow", "--home", FOLLOWED, "/var/lib/rollcall/requests.log")
    expired = "select cause_client_id from rebalances where group_id = 'clicks-agg' and cause = 'session_expired'"
    followed = until(lambda: rows(pod, FOLLOWED, expired), shadow.said, WITHIN_S, every_s=1.0)
    assert followed == [{"cause_client_id": "clicks-agg-1"}]

    assert pod.health().returncode == 0, pod.health().stderr
    assert all(each.process.poll() is None for each in (job, gateway, page, shadow))


def test_the_health_check_shows_a_server_that_is_not_well(pod: Pod) -> None:
    """A port that speaks no HTTP answers no question about health."""
    done = pod.ask("python", "/opt/rollcall/conf/image/health.py", "127.0.0.1:9092")
    assert done.returncode == 1
    assert "127.0.0.1:9092/health answers nothing" in done.stderr
