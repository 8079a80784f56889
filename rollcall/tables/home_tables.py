"""Makes and opens a home's tables, with the properties that they are to have.

Knows which folder holds which table; must not know a table's rows.
"""

from __future__ import annotations

from rollcall.schemas.tables import EFFECTS, QUARANTINE, REQUESTS
from rollcall.tables.appending import OpenTable, open_table
from rollcall.tables.home import Home
from rollcall.tables.properties import VERSIONS_RETENTION_MINUTES, request_properties, table_properties


def open_requests(home: Home, versions_retention_minutes: int = VERSIONS_RETENTION_MINUTES) -> OpenTable:
    """The request table, created if missing; a gateway may have created it."""
    return open_table(home.requests, REQUESTS, request_properties(versions_retention_minutes))


def open_effects(home: Home, versions_retention_minutes: int = VERSIONS_RETENTION_MINUTES) -> OpenTable:
    """The effects table, created if missing."""
    return open_table(home.effects, EFFECTS, table_properties(versions_retention_minutes))


def open_quarantine(home: Home, versions_retention_minutes: int = VERSIONS_RETENTION_MINUTES) -> OpenTable:
    """The quarantine, created if missing."""
    return open_table(home.quarantine, QUARANTINE, table_properties(versions_retention_minutes))
