"""The work of a process on a bucket of both inputs: it merges the facts of the bucket's groups.

Knows files of effects. Must not know by which rule facts are merged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rollcall.inputs.both_inputs import BothMerged
from rollcall.inputs.following.merging_feed import BESIDE_REQUESTS, Ends, MergingFeed, MergingState
from rollcall.inputs.replay.row_files import RowFiles, take_rows
from rollcall.programs.processes import note_done


def merge_files(
    bucket: int, of_log: Sequence[Path], of_topic: Sequence[Path], names: Mapping[str, str], ends: Ends, folder: Path
) -> tuple[BothMerged, list[Path]]:
    """Merges the effects in files of both inputs into files of a folder. names: topic names by id."""
    feed, out = (
        MergingFeed(MergingState(), BESIDE_REQUESTS, lambda ids: names, 0),
        RowFiles(folder / f"merged-{bucket:03}"),
    )
    for is_topic, files in ((False, of_log), (True, of_topic)):
        for file in files:
            feed.take(take_rows(file), is_topic=is_topic)
    feed.end(ends)
    out.write("effects", feed.take_decided())
    note_done(1)
    return feed.found, out.files
