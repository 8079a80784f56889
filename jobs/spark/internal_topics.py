"""Spark's Kafka connector without the line that leaves Kafka's internal topics out, `__consumer_offsets` among them.

The connector lists a topic's partitions and drops those of topics of which the client says isInternal(). In a copy of
its JAR that one call is answered with false; nothing else is changed (docs/decisions/0014). Knows Java's class files as
far as that needs. Must not know what the connector is used for.
"""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

from rollcall.programs.preflight import Missing

CLASS = "org/apache/spark/sql/kafka010/ConsumerStrategy.class"
_CALLED = ("org/apache/kafka/clients/admin/TopicDescription", "isInternal", "()Z")
_INVOKE_VIRTUAL = 0xB6
_FALSE_INSTEAD = bytes([0x57, 0x03, 0x00])
"""pop, iconst_0, nop: as long as the call, and with the same effect on the stack."""
_UTF8, _LONG, _DOUBLE = 1, 5, 6
_CLASS, _METHOD, _NAME_AND_TYPE = 7, 10, 12
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
"""How many bytes a constant of each tag has, the text's (tag 1) apart."""


def write_with_internal_topics(connector: Path, target: Path) -> None:
    """Copies the connector's JAR with that call answered. Raises Missing: it is not where it is known to be."""
    with zipfile.ZipFile(connector) as jar, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in jar.namelist():
            content = jar.read(name)
            copy.writestr(name, _answered(content, connector.name) if name == CLASS else content)


def _answered(code: bytes, where: str) -> bytes:
    called = _index_of_called(code)
    call = None if called is None else struct.pack(">BH", _INVOKE_VIRTUAL, called)
    if call is None or code.count(call) != 1:
        raise Missing(f"{where} does not leave internal topics out where version 4.2.0 does: its version is another.")
    return code.replace(call, _FALSE_INSTEAD)


def _index_of_called(code: bytes) -> int | None:
    """The place of the called method among the class's constants; None where it is not there."""
    constants = _constants(code)

    def text(index: int) -> str:
        content = constants[index][1]
        return content.decode("utf-8", "replace")

    for index, (tag, content) in constants.items():
        if tag == _METHOD:
            owner, named = struct.unpack(">HH", content)
            name, kind = struct.unpack(">HH", constants[named][1])
            (owner_name,) = struct.unpack(">H", constants[owner][1])
            if (text(owner_name), text(name), text(kind)) == _CALLED:
                return index
    return None


def _constants(code: bytes) -> dict[int, tuple[int, bytes]]:
    """Tag and content of each constant by its place; a long and a double take two places."""
    (count,) = struct.unpack_from(">H", code, 8)
    found: dict[int, tuple[int, bytes]] = {}
    index, at = 1, 10
    while index < count:
        tag = code[at]
        at += 1
        size = _SIZES.get(tag, 0)
        if tag == _UTF8:
            (size,) = struct.unpack_from(">H", code, at)
            at += 2
        found[index] = (tag, code[at : at + size])
        at += size
        index += 2 if tag in (_LONG, _DOUBLE) else 1
    return found
