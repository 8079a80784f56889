"""What the paths that a user names are: which input of a replay.

Must not know how an input is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from rollcall.history.words import count
from rollcall.inputs.file_kinds import FileKind, kind_of
from rollcall.inputs.not_understood import not_understood
from rollcall.inputs.printed.lines.files import STANDARD_INPUT, files_of, path_of
from rollcall.inputs.replay.inputs import Input, LogInput, TopicInput
from rollcall.inputs.replay.printed import PrintedInput
from rollcall.programs.errors import UserError


class InputError(UserError):
    """Inputs that cannot be replayed together; the text says so."""


def input_of(paths: Sequence[Path], given: Mapping[str, str], zone: ZoneInfo) -> Input:
    """The input in some paths. given: settings of the broker and of single groups that the user knows.

    Beside printed logs, a path of an unknown kind is one, too: the client of an application may print nothing. Beside
    a dump it is read as a request log.

    Raises InputError: one is not there, they do not go together, or a setting that nothing in them uses; NotUnderstood:
    the only path is of an unknown kind; LogFileError, DumpError, ConfigError.
    """
    for path in paths:
        if str(path) != STANDARD_INPUT and not path.exists():
            raise InputError(f"LOG={path}: there is no such file or folder.")
    kinds = {path: kind_of(str(path)) for path in paths}
    is_printed = FileKind.PRINTED in kinds.values()
    dumps = [path for path, kind in kinds.items() if kind is FileKind.DUMP]
    printed = [path for path, kind in kinds.items() if is_printed and kind in (FileKind.PRINTED, FileKind.UNKNOWN)]
    logs = [path for path in paths if path not in (*dumps, *printed)]
    if len(dumps) > 1 or len(logs) > 1:
        found = (count(len(logs), "request log"), count(len(dumps), "dump"), count(len(printed), "log"))
        raise InputError(
            "LOG={}: names {}, {} of __consumer_offsets and {} of brokers or clients, and what goes together is one "
            "request log and one dump at most.".format(" ".join(map(str, paths)), *found)
        )
    if given and not dumps and not logs:
        raise InputError(f"SET={next(iter(given))}: is said of a request log or a dump, and {printed[0]} is neither.")
    topic = TopicInput(path_of(str(dumps[0])), given) if dumps else None
    beside = files_of([str(path) for path in printed])
    log = LogInput(path_of(str(logs[0])), given, zone, beside) if logs else None
    if log is not None and not dumps and not printed and kinds[logs[0]] is FileKind.UNKNOWN:
        raise not_understood(paths, are_empty=not log.size_bytes)
    return Input(log, topic, PrintedInput(printed, zone) if printed else None)
