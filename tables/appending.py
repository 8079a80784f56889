"""Appends rows to a table by delta-rs, each numbered batch once, whatever ends the writer.

Knows the number that a commit carries; must not know what is in a row.
"""

from __future__ import annotations

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction, write_deltalake

_NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


def append_once(table: DeltaTable, rows: pa.Table, app_id: str, number: int, *, has_upkeep: bool) -> None:
    """One commit that carries the writer's number (Delta's action `txn`); nothing where the table has that number.

    has_upkeep: somebody writes the log's checkpoints, so that no commit has to wait for one.
    """
    done = table.transaction_version(app_id)
    if done is not None and done >= number:
        return
    write_deltalake(
        table,
        rows,
        mode="append",
        commit_properties=CommitProperties(app_transactions=[Transaction(app_id, number)]),
        post_commithook_properties=_NO_HOOKS if has_upkeep else None,
    )
