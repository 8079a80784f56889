"""A line that has fields, as an entry: JSON, logfmt, and zap's console with an object behind the message.

Logstash, zap, kafkajs, Serilog, docker and exports name the same things differently. The message is its text, and the
other fields stand behind it as `; key: value`, in the order of the line.
"""

from __future__ import annotations

import json
import re
from typing import Any

from rollcall.inputs.printed.lines.entries import Clock, Entry
from rollcall.inputs.printed.lines.stamps import Stamp, readable_ms, stamp_at

_MESSAGES = (
    *("message", "msg", "@message", "Message", "log", "line", "text", "@m", "RenderedMessage", "textPayload"),
    "event",
)
_TIMES = ("@timestamp", "timestamp", "time", "ts", "t", "asctime", "@t", "Timestamp", "instant", "timeMillis")
_MONTH_FIRST = "eventTimestamp"
"""Azure's time, in numbers."""
_EPOCH = re.compile(r"\d{10}(?:\.\d{1,9}|\d{3}|\d{6}|\d{9})?")
"""Seconds since 1970, or thousandths, millionths or billionths of one, as text."""
_UNITS = ((1e17, 1_000_000), (1e14, 1_000), (1e11, 1))
"""Each a bound, and the units per ms of a number above it."""
_LEVELS = ("level", "severity", "lvl", "loglevel", "levelname", "@l", "Level", "MessageLevel")
_LOGGERS = ("logger_name", "logger", "loggerName", "class", "name", "SourceContext")
_BY_NUMBER = {"10": "TRACE", "20": "DEBUG", "30": "INFO", "40": "WARN", "50": "ERROR", "60": "FATAL"}
"""Levels of pino and bunyan."""
_SOURCES = (
    *("service", "container", "pod", "container_name", "kubernetes.pod_name", "pod_name", "kubernetes"),
    *("hostname", "host", "@logStream"),
)
"""What tells programs apart: those of one service or container may have one client id."""
_NAMES = ("pod_name", "pod", "name")
"""Where such a field is an object, its own name."""
_EVENT = {"severity", "fac", "message"}
"""The fields of an event of librdkafka's, under Node."""
_DEEPEST = 3
"""Objects within each other in which such an event is looked for."""
LONGEST_VALUE = 4_000
"""Characters of a field that is shown behind the message: a stack trace is cut."""
_PAIR = re.compile(r'(?P<key>[A-Za-z_@][\w.@-]{0,60})=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s"]*))(?:\s|\Z)')


def entry_of_json(file: str, number: int, text: str) -> Entry | None:
    """An object with a message; None: it is not JSON, or has no message. An extra brace at its end is ignored."""
    fields, rest = object_at_beginning(text)
    if fields is None or rest.strip("} ,]."):
        return None
    event = _event_within(fields, _DEEPEST)
    if isinstance(record := fields.get("_source"), dict):  # As Elasticsearch has it.
        fields = record
    elif isinstance(resource := fields.get("resource"), dict) and isinstance(labels := resource.get("labels"), dict):
        fields = fields | {"pod_name": labels.get("pod_name")}  # As Google has it.
    return entry_of_fields(file, number, fields | event)


def object_at_beginning(text: str) -> tuple[dict[str, Any] | None, str]:
    """The object that a text begins with, as it can be printed, and what is behind it; None: it begins with none."""
    try:
        fields, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None, text
    if not isinstance(fields, dict):
        return None, text
    if "\\ud" in text.lower():  # Half a character, which can be escaped, and never printed.
        fields = json.loads(json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace"))
    return fields, text[end:]


def _event_within(fields: dict[str, Any], levels: int) -> dict[str, Any]:
    """What librdkafka handed to a program that prints it within an object of its own; empty: it is none."""
    for value in fields.values() if levels else ():
        if isinstance(value, dict):
            event = value if value.keys() >= _EVENT else _event_within(value, levels - 1)
            if event:
                return event
    return {}


def entry_of_fields(file: str, number: int, fields: dict[str, Any]) -> Entry | None:
    """An entry of a line that is made of fields; None: no field is a message."""
    message = next((fields.pop(key) for key in _MESSAGES if isinstance(fields.get(key), str)), None)
    if message is None:
        return None
    stamp = _time(next((fields.pop(key) for key in _TIMES if key in fields), None))
    if stamp is None and isinstance(fields.get(_MONTH_FIRST), str):
        stamp = stamp_at(fields.pop(_MONTH_FIRST))
        stamp = stamp and stamp._replace(at_ms=stamp.month_first_ms or stamp.at_ms, month_first_ms=None)
    level = next((str(fields.pop(key)) for key in _LEVELS if key in fields), "")
    logger = next((str(fields.pop(key)) for key in _LOGGERS if isinstance(fields.get(key), str)), "")
    source = "/".join(name for key in _SOURCES if (name := _name_of(fields.pop(key, None))))
    rest = "".join(f"; {key}: {_shown(value)}" for key, value in fields.items() if value not in (None, "", {}, []))
    message = message.rstrip()
    entry = Entry(file, number, message + rest, None, Clock.NONE, False, _BY_NUMBER.get(level, level.upper()), logger)
    entry = entry._replace(source=source, message=message, fields=fields)
    if stamp is None:
        return entry
    return entry._replace(at_ms=stamp.at_ms, clock=stamp.clock, month_first_ms=stamp.month_first_ms)


def _name_of(value: Any) -> str:
    if isinstance(value, dict):
        return next((name for key in _NAMES if (name := _name_of(value.get(key)))), "")
    return value if isinstance(value, str) else ""


def _time(value: Any) -> Stamp | None:
    """A printed time, Log4j 2's object, or seconds since 1970 or thousandths, millionths or billionths of one."""
    if isinstance(value, dict):
        second, ns = value.get("epochSecond"), value.get("nanoOfSecond", 0)
        if not isinstance(second, int) or not isinstance(ns, int):
            return None
        return _since_1970(second * 1000 + ns // 1_000_000)
    if isinstance(value, str) and _EPOCH.fullmatch(value):
        value = float(value) if "." in value else int(value)
    if isinstance(value, bool) or value is None:
        return None
    if not isinstance(value, int | float):
        return stamp_at(str(value))
    for above, a_ms in _UNITS:
        if value > above:
            return _since_1970(value // a_ms if isinstance(value, int) else value / a_ms)
    return _since_1970(value * 1000)


def _since_1970(at_ms: float) -> Stamp | None:
    found = readable_ms(at_ms)
    return None if found is None else Stamp(found, Clock.UTC, False, 0)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return text[:LONGEST_VALUE]


def logfmt_fields(text: str) -> dict[str, str] | None:
    """`time=.. level=INFO msg="joined" group=orders`; None if the line is not only made of such pairs."""
    fields: dict[str, str] = {}
    place = 0
    while place < len(text):
        found = _PAIR.match(text, place)
        if found is None:
            return None
        quoted = found["quoted"]
        fields[found["key"]] = found["bare"] if quoted is None else quoted.replace('\\"', '"').replace("\\\\", "\\")
        place = found.end()
    return fields or None


def fields_behind(text: str, *, blanks: bool = False) -> tuple[str, dict[str, Any]] | None:
    """`message\\t{"key": "value"}`: the message and the fields; None if there are none. blanks: one may be the tab."""
    message, found, rest = text.rpartition("\t{")
    if not found and blanks:
        message, found, rest = text.partition(' {"')
        rest = f'"{rest}'
    try:
        fields = json.loads("{" + rest) if found else None
    except (ValueError, RecursionError):
        return None
    return (message.rstrip().rpartition("\t")[2], fields) if isinstance(fields, dict) else None
