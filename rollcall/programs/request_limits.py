"""What a request may be at most before it is refused or set aside. The gateway and the coordinator both go by it.

Knows the keys; must not know who reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

from rollcall.programs.settings import setting


@dataclass(frozen=True)
class RequestLimits:
    """In bytes of UTF-8."""

    group_id_max_bytes: int = setting(
        "spark.coordinator.group.id.max.bytes", 32_767, "a longer group id goes to quarantine", least=1
    )
    request_max_bytes: int = setting(
        "spark.coordinator.request.max.bytes", 4_194_304, "a longer request goes to quarantine", least=1
    )
