"""Command lines: how a program's arguments are read, and what its `--help` shows.

Knows click, and the options that several programs have, each named as the Makefile's variable is. Must not know what a
program does, and loads none before it is asked for.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem, shell_complete

from rollcall.programs.errors import ConfigError, UserError
from rollcall.programs.extras import SPARK, check_installed, missing_extra
from rollcall.programs.running import run_program

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

DEFAULT_HOME = ".rollcall"
FORMATS = "ROLLCALL_FORMATS"


class Commands(click.Group):
    """Commands that are imported when they are asked for. groups: the `module:name` of each, by heading."""

    def __init__(self, *, groups: Mapping[str, Mapping[str, str]], **settings: Any) -> None:
        super().__init__(**settings)
        self.groups = groups
        self.places = {name: place for places in groups.values() for name, place in places.items()}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        longest = max(map(len, self.places))
        for heading, places in self.groups.items():
            commands = ((name, self.get_command(ctx, name)) for name in places)
            with formatter.section(heading):
                room = formatter.width - longest - 4
                rows = [
                    (name.ljust(longest), command.get_short_help_str(room)) for name, command in commands if command
                ]
                formatter.write_dl(rows)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Also takes `help`, `help COMMAND` and `version`, as other tools do."""
        if args[:1] == ["help"]:
            args = [*args[1:2], "--help"]
        elif args == ["version"]:
            args = ["--version"]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = self.places.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand:
            raise click.exceptions.NoSuchCommand(args[0], possibilities=self.places, ctx=ctx) from None


def run_command(command: click.Command, name: str, arguments: Sequence[str] | None = None) -> int:
    """Runs a command with these arguments (None: the process's own), and returns its exit status as run_program does.

    A wrong argument is a user's mistake. If the shell asks for completions, it gets them.
    """
    variable = f"_{name.upper()}_COMPLETE"
    asked = os.environ.get(variable) if name.isidentifier() else None
    if asked:
        return shell_complete(command, {}, name, variable, asked)
    return run_program(lambda: _run(command, name, list(sys.argv[1:] if arguments is None else arguments)))


def _run(command: click.Command, name: str, arguments: list[str]) -> int | None:
    context: click.Context | None = None
    try:
        with command.make_context(name, arguments) as context:
            status: int | None = command.invoke(context)
            return status
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return 0
    except click.UsageError as error:
        raise UserError(f"{_ended(error.format_message())} See {_path(error.ctx or context, name)} --help.") from None
    except click.ClickException as error:
        raise UserError(error.format_message()) from None
    except ModuleNotFoundError as error:
        raise missing_extra(error, _path(context, name)) or error from None


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?", "?)")) else f"{sentence}."


def _path(context: click.Context | None, name: str) -> str:
    """The command whose help would have helped: click names the outer one for some mistakes in an inner one's words."""
    return name if context is None else " ".join(filter(None, (context.command_path, context.invoked_subcommand)))


def examples(*lines: str) -> str:
    """The end of a command's help: lines that can be typed as they stand."""
    return "\n".join(["\b", "For example:", *(f"  {line}" for line in lines)])


class OneOf(click.ParamType[str]):
    """One of some words, which the shell completes."""

    name = "word"

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Raises UserError, naming the words that it may be."""
        if value not in self.words:
            option = "" if param is None else f"{param.opts[0]} "
            raise UserError(f"{option}{value}: is not one of {', '.join(self.words)}.")
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in self.words if word.startswith(incomplete)]


# ---------------------------------------------------------------- options that several programs have


def home_option(function: Decorated) -> Decorated:
    return click.option(
        "--home",
        envvar="ROLLCALL_HOME",
        default=DEFAULT_HOME,
        metavar="FOLDER",
        callback=lambda ctx, param, value: value or DEFAULT_HOME,
        help=f"Folder with the tables (default: $ROLLCALL_HOME or {DEFAULT_HOME}).",
    )(function)


def conf_option(function: Decorated) -> Decorated:
    return click.option(
        "--conf",
        "--conf-file",
        "conf",
        type=_MaybePath(),
        metavar="FILE",
        help="File of key=value settings; conf/coordinator.conf lists all.",
    )(function)


def set_option(what: str, *names: str) -> Callable[[Decorated], Decorated]:
    """The option `--set key=value`, as often as wanted. names: others that it has. what: the beginning of its help."""
    return click.option(
        *(names or ("--set",)), "given", multiple=True, metavar="KEY=VALUE", help=f"{what}; repeatable."
    )


def zone_option(function: Decorated) -> Decorated:
    return click.option(
        "--zone",
        default="UTC",
        metavar="ZONE",
        callback=lambda ctx, param, value: value or "UTC",
        help="The zone of the log's timestamps, such as Asia/Kolkata (default: UTC).",
    )(function)


def at_option(what: str) -> Callable[[Decorated], Decorated]:
    return click.option(
        "--at", metavar="MOMENT", default="", help=f'{what}: "2026-03-01 03:12", UTC unless it gives a zone.'
    )


def format_option(words: Sequence[str]) -> Callable[[Decorated], Decorated]:
    """The option `--format`; its default is the first word."""
    return click.option(
        "--format", "form", default=words[0], type=OneOf(words), metavar="|".join(words), show_default=True
    )


def engine_installed(context: click.Context, param: click.Parameter, engine: str | None) -> str | None:
    """The callback of an option that names an engine."""
    if engine == "spark":
        check_installed(SPARK)
    return engine


def formats_option(function: Decorated) -> Decorated:
    return click.option(
        "--formats",
        envvar=FORMATS,
        default="",
        metavar="FOLDER",
        help=f"Folder with formats of your own (default: ${FORMATS} or ~/.config/rollcall/formats).",
    )(function)


def use_formats(folder: str) -> None:
    """Makes what reads logs, here and in children, take formats from a folder too. It must not be imported before.

    Raises UserError: the option names a folder that is not there.
    """
    if folder and folder != os.environ.get(FORMATS):
        if not os.path.isdir(os.path.expanduser(folder)):
            raise UserError(f"--formats {folder}: there is no such folder.")
        os.environ[FORMATS] = folder


def log_argument(function: Decorated) -> Decorated:
    return click.argument("log", type=click.Path(path_type=str), metavar="LOG")(function)


class _MaybePath(click.Path):
    """A path; None for an empty text."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path | None:  # type: ignore[override]
        return Path(value).expanduser() if value else None


def place_options(function: Decorated) -> Decorated:
    """Where a gateway listens and what it stands before: --listen, --topics, --upstream, --metrics."""
    for name, metavar, what in reversed(_PLACES):
        function = click.option(name, metavar=metavar, default="", help=what)(function)
    return function


PLACES = {
    "listen": "gateway.listen",
    "topics": "topics",
    "upstream": "gateway.upstream",
    "metrics": "gateway.metrics.listen",
}
"""The settings that these options are short for."""


@contextmanager
def named_as_typed(places: Mapping[str, object]) -> Iterator[None]:
    """Name the option instead of the setting that it is short for, in the ConfigError of a wrong one."""
    try:
        yield
    except ConfigError as error:
        name = next((name for name, setting in PLACES.items() if setting == error.key and places.get(name)), None)
        if name is None:
            raise
        raise ConfigError(error.why, f"--{name}", error.value) from None


_PLACES = (
    ("--listen", "HOST:PORT", "Address for Kafka clients (default: 127.0.0.1:9092)."),
    ("--topics", "T1:4,T2:4", "Topics with their partition counts."),
    ("--upstream", "HOST:PORT", "A broker of the Kafka cluster that has the data."),
    ("--metrics", "HOST:PORT", "Where /metrics and /health are served (default: 127.0.0.1:9464)."),
)
