"""A home's tables as the job makes and opens them by delta-rs: with the properties that its settings ask for.

Knows which folder holds which table; must not know a table's rows.
"""

from __future__ import annotations

from deltalake import DeltaTable

from jobs.config import JobConfig
from jobs.home import Home
from schemas.tables import EFFECTS, QUARANTINE, REQUESTS
from tables.opening import open_table
from tables.properties import request_properties, table_properties


def properties_of(config: JobConfig) -> dict[str, str]:
    """The Delta properties of the effects table and the quarantine."""
    return table_properties(config.versions_retention_minutes)


def open_requests(home: Home, config: JobConfig) -> DeltaTable:
    """The request table, made if it is not there; a gateway or a table client may have made it before."""
    return open_table(home.requests, REQUESTS, request_properties(config.versions_retention_minutes))


def open_effects(home: Home, config: JobConfig) -> DeltaTable:
    """The effects table, made if it is not there."""
    return open_table(home.effects, EFFECTS, properties_of(config))


def open_quarantine(home: Home, config: JobConfig) -> DeltaTable:
    """The quarantine, made if it is not there."""
    return open_table(home.quarantine, QUARANTINE, properties_of(config))
