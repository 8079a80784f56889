"""Layouts of loggers and of what carries their lines, each as a function from what a library says to a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

AT_MS = 1_772_334_720_417
"""2026-03-01 03:12:00.417."""
HUNDREDTHS_MS, SECONDS_MS = AT_MS - 7, AT_MS - 417
SINCE_MIDNIGHT_MS = 11_520_417


class Said(NamedTuple):
    """What a library hands to its logger."""

    message: str
    logger: str
    fields: Mapping[str, str]
    behind: str
    """The fields as the library's own logger prints them behind a message."""

    @property
    def text(self) -> str:
        """The message with its fields behind it, as it stands in a line of text."""
        return self.message + self.behind

    @property
    def pairs(self) -> str:
        """The fields as logfmt has them, behind a blank."""
        return "".join(f" {key}={json.dumps(value)}" for key, value in self.fields.items())

    @property
    def short(self) -> str:
        """The logger without its packages."""
        return self.logger.rpartition(".")[2]


class Layout(NamedTuple):
    """A layout, and the time that its lines say."""

    line: Callable[[Said], str]
    at_ms: int | None = AT_MS


def _object(said: Said, **fields: Any) -> str:
    return json.dumps(fields | dict(said.fields))


OF_JAVA = {
    "log4j": Layout(lambda one: f"2026-03-01 03:12:00,417 INFO {one.text} ({one.logger})"),
    "log4j, its class first": Layout(lambda one: f"2026-03-01 03:12:00,417 INFO  [main] {one.logger} - {one.text}"),
    "log4j, Spark's": Layout(lambda one: f"26/03/01 03:12:00 INFO {one.short}: {one.text}", SECONDS_MS),
    "log4j, Spark's with a package": Layout(
        lambda one: f"26/03/01 03:12:00 INFO internals.{one.short}: {one.text}", SECONDS_MS
    ),
    "log4j, ISO 8601 without marks": Layout(lambda one: f"20260301T031200,417 INFO {one.logger} - {one.text}"),
    "log4j, its day first": Layout(lambda one: f"31/12/2025 03:12:00  INFO {one.text}", 1_767_150_720_000),
    "log4j, hundredths": Layout(lambda one: f"2026-03-01 03:12:00.41 INFO {one.logger} - {one.text}", HUNDREDTHS_MS),
    "log4j, the month's name": Layout(lambda one: f"01 Mar 2026 03:12:00,417 INFO [main] {one.logger} - {one.text}"),
    "log4j, the month's name between hyphens": Layout(
        lambda one: f"01-Mar-2026 03:12:00.417 INFO [main] {one.logger} {one.text}"
    ),
    "logback": Layout(lambda one: f"03:12:00.417 [main] INFO  {one.logger} - {one.text}", SINCE_MIDNIGHT_MS),
    "Spring Boot 2": Layout(
        lambda one: f"2026-03-01 03:12:00.417  INFO 1 --- [ntainer#0-0-C-1] {one.logger[-40:]:40} : {one.text}"
    ),
    "Spring Boot 3": Layout(
        lambda one: f"2026-03-01T03:12:00.417Z  INFO 1 --- [app] [ntainer#0-0-C-1] {one.logger[-40:]:40} : {one.text}"
    ),
    "Quarkus": Layout(lambda one: f"2026-03-01 03:12:00,417 INFO  [{one.logger}] (main) {one.text}"),
    "java.util.logging on one line": Layout(
        lambda one: f"Mar 01, 2026 3:12:00 AM {one.logger} join INFO: {one.text}", SECONDS_MS
    ),
    "java.util.logging, its own one line": Layout(
        lambda one: f"[2026-03-01 03:12:00] [INFO   ] {one.text}", SECONDS_MS
    ),
    "Open Liberty": Layout(lambda one: f"[01/03/26 03:12:00:417 GMT] 00000042 {one.short[:13]:13} I   {one.text}"),
    "WebSphere, its month first": Layout(
        lambda one: f"[12/31/25 03:12:00:417 CET] 00000042 {one.short[:13]:13} I   {one.text}", 1_767_150_720_417
    ),
    "Java Service Wrapper": Layout(lambda one: f"INFO   | jvm 1    | 2026/03/01 03:12:00 | {one.text}", SECONDS_MS),
    "Java Service Wrapper around log4j": Layout(
        lambda one: f"INFO   | jvm 1    | 2026/03/01 03:12:03 | 2026-03-01 03:12:00,417 INFO {one.text}"
    ),
}
OF_OTHERS = {
    "NLog": Layout(lambda one: f"2026-03-01 03:12:00.4171|WARN|{one.logger}|{one.text}"),
    "log4net": Layout(lambda one: f"2026-03-01 03:12:00,417 [5] WARN  {one.logger} [(null)] - {one.text}"),
    ".NET's one line": Layout(lambda one: f"info: {one.logger}[0] {one.text}", None),
    ".NET's one line with a time": Layout(lambda one: f"2026-03-01 03:12:00.417 warn: {one.logger}[42] {one.text}"),
    ".NET's one line with a time in ISO 8601": Layout(
        lambda one: f"2026-03-01T03:12:00.4170000Z warn: {one.logger}[0] {one.text}"
    ),
    "Serilog's console": Layout(lambda one: f"[03:12:00 WRN] {one.text}", SINCE_MIDNIGHT_MS - 417),
    "Serilog's file": Layout(lambda one: f"2026-03-01 03:12:00.417 +00:00 [WRN] {one.text}"),
    "Python": Layout(lambda one: f"2026-03-01 03:12:00,417 - {one.logger} - WARNING - {one.text}"),
    "Python's own": Layout(lambda one: f"WARNING:{one.logger}:{one.text}", None),
    "Python's own with a time": Layout(lambda one: f"INFO:{one.logger}:2026-03-01 03:12:00,417:{one.text}"),
    "loguru": Layout(lambda one: f"2026-03-01 03:12:00.417 | WARNING  | {one.logger}:_join:412 - {one.text}"),
    "structlog": Layout(lambda one: f"2026-03-01T03:12:00.417000Z [warning  ] {one.text}"),
    "absl": Layout(lambda one: f"W0301 03:12:00.417000 140 app.py:12] {one.text}", SINCE_MIDNIGHT_MS),
    "Rust's env_logger": Layout(lambda one: f"[2026-03-01T03:12:00Z WARN  {one.short.lower()}] {one.text}", SECONDS_MS),
    "Ruby": Layout(lambda one: f"W, [2026-03-01T03:12:00.417000 #1]  WARN -- : {one.text}"),
    "Monolog": Layout(lambda one: f"[2026-03-01T03:12:00.417000+00:00] app.WARNING: {one.text}"),
    "Monolog without fields": Layout(lambda one: f"[2026-03-01T03:12:00.417000+00:00] app.WARNING: {one.text} [] []"),
    "winston's text": Layout(lambda one: f"2026-03-01T03:12:00.417Z warn: {one.text}"),
    "winston's text, its time behind": Layout(lambda one: f"warn: 2026-03-01T03:12:00.417Z {one.text}"),
    "Elixir": Layout(lambda one: f"03:12:00.417 [warning] {one.text}", SINCE_MIDNIGHT_MS),
    "Erlang": Layout(lambda one: f"2026-03-01T03:12:00.417000+00:00 warning: {one.text}"),
    "apache": Layout(lambda one: f"[Sun Mar 01 03:12:00.417 2026] [warn] {one.text}"),
}
OF_GO = {
    "Go": Layout(lambda one: f"2026/03/01 03:12:00.417000 {one.text}"),
    "Go with its file": Layout(lambda one: f"2026/03/01 03:12:00 main.go:42: {one.text}", SECONDS_MS),
    "slog": Layout(lambda one: f"time=2026-03-01T03:12:00.417Z level=WARN msg={json.dumps(one.message)}{one.pairs}"),
    "logrus": Layout(
        lambda one: f'time="2026-03-01T03:12:00Z" level=warning msg={json.dumps(one.message)}{one.pairs}', SECONDS_MS
    ),
    "zap's console": Layout(lambda one: f"2026-03-01T03:12:00.417Z\tWARN\tkgo/log.go:12\t{one.text}"),
    "zap's console, blanks for tabs": Layout(lambda one: f"2026-03-01T03:12:00.417Z  WARN  kgo/log.go:12  {one.text}"),
    "zerolog's console": Layout(lambda one: f"2026-03-01T03:12:00Z WRN {one.text}", SECONDS_MS),
    "zap's console with fields": Layout(
        lambda one: (
            f"2026-03-01T03:12:00.417Z\twarn\tkgo/log.go:12\t{one.message}\t{json.dumps(dict(one.fields) | {'a': 'b'})}"
        )
    ),
    "zap's console with fields, blanks for tabs": Layout(
        lambda one: (
            f"2026-03-01T03:12:00.417Z    warn    franz   kgo/log.go:12 {one.message}   "
            f"{json.dumps(dict(one.fields) | {'a': 'b'})}"
        )
    ),
}
CARRIED = {
    "syslog": Layout(lambda one: f"Mar  1 03:12:00 host-1 app[812]: {one.text}", SINCE_MIDNIGHT_MS - 417),
    "syslog, RFC 5424": Layout(lambda one: f"<14>1 2026-03-01T03:12:00.417Z host-1 app 812 - - {one.text}"),
    "syslog, RFC 5424 with data": Layout(
        lambda one: f'<14>1 2026-03-01T03:12:00.417Z host-1 app 812 ID47 [a@1 b="c"] {one.text}'
    ),
    "colours": Layout(lambda one: f"\x1b[36m2026-03-01 03:12:00,417\x1b[0m \x1b[33mWARN\x1b[0m {one.text}"),
    "colours as letters": Layout(lambda one: f"ESC[36m2026-03-01 03:12:00,417ESC[0m ESC[33mWARNESC[0m {one.text}"),
    "colours as escapes": Layout(
        lambda one: f"\\x1b[36m2026-03-01 03:12:00,417\\x1b[0m \\u001b[33mWARN\\033[0m {one.text}"
    ),
    "colours as cat shows them": Layout(lambda one: f"^[[36m2026-03-01 03:12:00,417^[[0m ^[[33mWARN^[[0m {one.text}"),
}
OBJECTS = {
    "logstash": Layout(
        lambda one: _object(
            one, **{"@timestamp": "2026-03-01T03:12:00.417Z"}, message=one.message, level="WARN", logger_name=one.logger
        )
    ),
    "Log4j 2": Layout(
        lambda one: _object(
            one,
            instant={"epochSecond": 1_772_334_720, "nanoOfSecond": 417_000_000},
            thread="main",
            level="WARN",
            loggerName=one.logger,
            message=one.message,
        )
    ),
    "Log4j 2, timeMillis": Layout(
        lambda one: _object(one, timeMillis=AT_MS, level="WARN", loggerName=one.logger, message=one.message)
    ),
    "zap": Layout(lambda one: _object(one, level="warn", ts=AT_MS / 1000, caller="kgo/log.go:12", msg=one.message)),
    "zap, ns": Layout(lambda one: _object(one, level="warn", ts=AT_MS * 1_000_000, msg=one.message)),
    "zerolog, µs": Layout(lambda one: _object(one, level="warn", time=AT_MS * 1000, message=one.message)),
    "Loki's push, ns as text": Layout(lambda one: _object(one, ts=f"{AT_MS}000000", line=one.message)),
    "pino": Layout(lambda one: _object(one, level=40, time=AT_MS, pid=1, hostname="host-1", msg=one.message)),
    "bunyan": Layout(
        lambda one: _object(
            one, name="app", hostname="host-1", pid=1, level=40, msg=one.message, time="2026-03-01T03:12:00.417Z", v=0
        )
    ),
    "winston": Layout(
        lambda one: _object(one, level="warn", message=one.message, timestamp="2026-03-01T03:12:00.417Z")
    ),
    "structlog's JSON": Layout(
        lambda one: _object(
            one, event=one.message, level="warning", logger=one.logger, timestamp="2026-03-01T03:12:00.417Z"
        )
    ),
    "loguru's JSON": Layout(
        lambda one: json.dumps(
            {
                "text": f"2026-03-01 03:12:00.417 | WARNING  | {one.logger}:_join:412 - {one.text}\n",
                "record": {"message": one.text, "time": {"timestamp": AT_MS / 1000}},
            }
        )
    ),
    "in a field of CSV": Layout(
        lambda one: 'host-1,"' + _object(one, timestamp=AT_MS, message=one.message).replace('"', '""') + '",app'
    ),
    "behind a head": Layout(
        lambda one: f"[2026-03-01T03:12:00.417Z] WARN: svc/25 on host: {_object(one, message=one.message)}"
    ),
    "behind a log4j head": Layout(
        lambda one: f"2026-03-01 03:12:00,417 WARN {one.logger} - {_object(one, message=one.message)}"
    ),
}
