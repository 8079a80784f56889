"""Makes and opens a home's tables on the driver, with the properties in its settings.

Knows which folder holds which table; must not know a table's rows.
"""

from __future__ import annotations

from rollcall.jobs.config import JobConfig
from rollcall.schemas.tables import EFFECTS, QUARANTINE, REQUESTS
from rollcall.tables.appending import OpenTable, open_table
from rollcall.tables.home import Home
from rollcall.tables.properties import request_properties, table_properties


def properties_of(config: JobConfig) -> dict[str, str]:
    """The properties of the effects table and the quarantine."""
    return table_properties(config.versions_retention_minutes)


def open_requests(home: Home, config: JobConfig) -> OpenTable:
    """The request table, created if missing; a gateway may have created it."""
    return open_table(home.requests, REQUESTS, request_properties(config.versions_retention_minutes))


def open_effects(home: Home, config: JobConfig) -> OpenTable:
    """The effects table, created if missing."""
    return open_table(home.effects, EFFECTS, properties_of(config))


def open_quarantine(home: Home, config: JobConfig) -> OpenTable:
    """The quarantine, created if missing."""
    return open_table(home.quarantine, QUARANTINE, properties_of(config))
