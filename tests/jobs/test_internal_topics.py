"""The connector's JAR with one call answered, on class files made here; a real one's is held by tests/peers_kafka."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import pytest

from rollcall.jobs.spark.internal_topics import CLASS, write_with_internal_topics
from rollcall.programs.preflight import Missing

OWNER, NAME, KIND = "org/apache/kafka/clients/admin/TopicDescription", "isInternal", "()Z"
CALL = struct.pack(">BH", 0xB6, 8)
OTHER = "META-INF/MANIFEST.MF"


def text(content: str) -> bytes:
    return struct.pack(">BH", 1, len(content)) + content.encode()


def class_file(code: bytes, name: str = NAME) -> bytes:
    """A class whose eighth constant is the method; a long before it takes two places."""
    constants = [
        text(OWNER),
        text(name),
        text(KIND),
        struct.pack(">BH", 7, 1),
        struct.pack(">BHH", 12, 2, 3),
        struct.pack(">Bq", 5, 77),
        struct.pack(">BHH", 10, 4, 5),
    ]
    return struct.pack(">IHHH", 0xCAFEBABE, 0, 61, len(constants) + 2) + b"".join(constants) + code


def jar_of(folder: Path, content: bytes) -> Path:
    path = folder / "connector.jar"
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr(OTHER, b"Manifest-Version: 1.0\n")
        jar.writestr(CLASS, content)
    return path


def test_the_call_is_answered_with_false_and_nothing_else_is_touched(tmp_path: Path) -> None:
    before, after = b"\x2a\xc0\x00\x04", b"\xac"
    connector = jar_of(tmp_path, class_file(before + CALL + after))
    write_with_internal_topics(connector, tmp_path / "copy.jar")
    with zipfile.ZipFile(tmp_path / "copy.jar") as copy:
        assert copy.read(CLASS) == class_file(before + b"\x57\x03\x00" + after)
        assert copy.read(OTHER) == b"Manifest-Version: 1.0\n"


@pytest.mark.parametrize(
    "content",
    [class_file(b"\xac"), class_file(CALL + CALL), class_file(CALL, name="isDeleted")],
    ids=["no call", "two calls", "another method"],
)
def test_a_connector_that_asks_elsewhere_is_refused(content: bytes, tmp_path: Path) -> None:
    connector = jar_of(tmp_path, content)
    with pytest.raises(Missing, match=r"connector\.jar does not leave internal topics out where"):
        write_with_internal_topics(connector, tmp_path / "copy.jar")
