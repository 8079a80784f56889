"""Makes the home of a version's topic shadow, packed with the cluster that it follows.

    python -m tests.peers_kafka.make_shadowed_cluster NAME [TREE]   makes tests/streaming/homes/NAME-with-cluster.tar.gz

TREE is a checkout of that version, else this one. The shadow has seen members come and go; they go on when it has
stopped, so that the topic has more than it has read. Knows the cluster and its members; must not know what a shadow
keeps.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.peers_kafka.kafka import broker
from tests.peers_kafka.members import QUICK, Members, make_topic
from tests.streaming.earlier_homes import CLUSTER, TOPIC, WITH_CLUSTER
from tests.streaming.make_homes import PATIENCE_S, Stillness, Version, asked_for, pack
from tests.waiting import until


def make(name: str, version: Version) -> Path:
    """The packed home and cluster."""
    with tempfile.TemporaryDirectory() as folder:
        home, cluster = Path(folder) / "homes" / TOPIC, Path(folder) / CLUSTER
        home.parent.mkdir()
        cluster.mkdir()
        with broker(cluster, QUICK) as address:
            make_topic(address)
            groups = [Members(address, "orders"), Members(address, "billing", "consumer")]
            with version.running("shadow", home, f"kafka://{address}"):
                for group in groups:
                    group.start()
                    group.commit(1)
                    group.start()
                    group.close_first()
                    group.start()
                until(Stillness(home), "the shadow's facts", PATIENCE_S)
            for group in groups:
                group.commit(2)
                group.start()
                group.close()
        return pack(version, Path(folder), f"{name}{WITH_CLUSTER}", f"{CLUSTER}/data")


if __name__ == "__main__":
    print(make(*asked_for()))
