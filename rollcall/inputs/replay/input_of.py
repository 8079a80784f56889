"""What the paths that a user names are: which input of a replay.

Must not know how an input is read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from rollcall.inputs.file_kinds import FileKind, kind_of
from rollcall.inputs.not_understood import not_understood
from rollcall.inputs.printed.lines.files import STANDARD_INPUT, files_of, path_of
from rollcall.inputs.replay.inputs import Input, LogInput, TopicInput
from rollcall.inputs.replay.printed import PrintedInput
from rollcall.inputs.request_log.lines.files import about_bytes_of, in_order
from rollcall.programs.errors import UserError


class InputError(UserError):
    """Inputs that cannot be replayed together; the text says so."""


def input_of(paths: Sequence[Path], given: Mapping[str, str], zone: ZoneInfo) -> Input:
    """The input in some paths, each file by its own kind. given: settings of the broker and of groups that are known.

    A file of an unknown kind goes with printed logs, since an application's client may print nothing, or with request
    logs. Beside a dump it is ignored.

    Raises InputError: a path is not there, two have dumps, or a setting that nothing in them uses; NotUnderstood: all
    are of an unknown kind; UserError, DumpError, ConfigError.
    """
    for path in paths:
        if str(path) != STANDARD_INPUT and not path.exists():
            raise InputError(f"LOG={path}: there is no such file or folder.")
    kinds = {file: kind_of(file) for file in files_of([*map(str, paths)])}
    logs, dumps, printed, unknown = (
        [file for file, kind in kinds.items() if kind is one]
        for one in (FileKind.REQUESTS, FileKind.DUMP, FileKind.PRINTED, FileKind.UNKNOWN)
    )
    if not (logs or dumps or printed):
        raise not_understood(paths, are_empty=not about_bytes_of(map(path_of, unknown)))
    if printed or logs:
        (printed or logs).extend(unknown)
    with_dumps = [path for path in paths if any(path in (place, *place.parents) for place in map(Path, dumps))]
    if len(with_dumps) > 1:
        raise InputError(
            f"LOG={' '.join(map(str, with_dumps))}: names {len(with_dumps)} dumps of __consumer_offsets. One is "
            "replayed: put the files of one topic into a folder."
        )
    if given and not dumps and not logs:
        raise InputError(f"SET={next(iter(given))}: is said of a request log or a dump, and {printed[0]} is neither.")
    topic = TopicInput([*map(path_of, dumps)], given) if dumps else None
    log = LogInput(in_order(_labels(logs, paths), zone), given, zone, printed) if logs else None
    return Input(log, topic, PrintedInput(printed, zone) if printed else None, unknown)


def _labels(logs: Sequence[str], paths: Sequence[Path]) -> dict[Path, str]:
    """Files of a request log, each with its name below the folder that has all, as messages and evidence name it."""
    files = [*map(path_of, logs)]
    is_folder = len(paths) == 1 and paths[0].is_dir()
    root = paths[0] if is_folder else os.path.commonpath([file.absolute().parent for file in files])
    return {file: os.path.relpath(file, root) for file in files}
