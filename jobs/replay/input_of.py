"""What the paths that a user names are: which input of a replay.

Must not know how an input is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from app_logs.files import comes_once, files_of
from jobs.replay.inputs import BothInput, Input, LogInput, TopicInput
from jobs.replay.printed import PrintedInput, is_printed
from jobs.replay.printed_beside_log import PrintedBesideLog
from jobs.replay.printed_beside_topic import PrintedBesideTopic
from offsets_topic.dumps.reading import is_dump
from programs.errors import UserError
from why.words import count


class InputError(UserError):
    """Inputs that cannot be replayed together; the text says so."""


def input_of(paths: Sequence[Path], given: Mapping[str, str], zone: ZoneInfo) -> Input:
    """The input in some paths. given: settings of the broker and of single groups that the user knows.

    A path that is neither a dump nor a log of brokers or clients is read as a request log.

    Raises InputError: paths that do not go together, or settings that nothing in them uses; LogFileError, DumpError,
    ConfigError.
    """
    for path in filter(comes_once, map(str, paths)):
        raise InputError(f"LOG={path}: can be read only once. Write it to a file, and name that.")
    dumps = [path for path in paths if is_dump(path)]
    printed = [path for path in paths if path not in dumps and is_printed(path)]
    logs = [path for path in paths if path not in (*dumps, *printed)]
    if len(dumps) > 1 or len(logs) > 1:
        found = (count(len(logs), "request log"), count(len(dumps), "dump"), count(len(printed), "log"))
        raise InputError(
            "LOG={}: names {}, {} of __consumer_offsets and {} of brokers or clients, and what goes together is one "
            "request log and one dump at most.".format(" ".join(map(str, paths)), *found)
        )
    if not dumps and not logs:
        if given:
            raise InputError(
                f"SET={next(iter(given))}: is said of a request log or a dump, and {printed[0]} is neither."
            )
        return PrintedInput(printed, zone)
    topic = TopicInput(dumps[0], given) if dumps else None
    if not logs and topic is not None:
        return PrintedBesideTopic(PrintedInput(printed, zone), topic) if printed else topic
    log = LogInput(logs[0], given, zone, files_of([str(path) for path in printed]))
    recorded = log if topic is None else BothInput(log, topic)
    return PrintedBesideLog(recorded, PrintedInput(printed, zone)) if printed else recorded
