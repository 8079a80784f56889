"""What must be on the machine before anything can run, and the one sentence that says what to install when it is not.

Knows Python's version, where Spark looks for Java, and how package tools word a missing network. Must not know what is
installed or run. Standard library only, and it must parse on Python 3.6, because it runs before .venv exists and tells
an old interpreter that it is too old: hence the quoted annotations, and no `from __future__ import annotations`.

    python -m rollcall.programs.preflight python java
        check both; exit status 2 and a sentence for the first one missing
    python -m rollcall.programs.preflight run WHAT -- COMMAND
        run a command that needs the network; its output is shown if it fails
"""

import os
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping

from rollcall.programs.errors import UserError
from rollcall.programs.running import run_program

PYTHON_NEEDED = (3, 11)
JAVA_NEEDED = 17
JAVA_ANSWER_TIMEOUT_S = 60
LINES_KEPT = 2000
LINES_SHOWN = 15

# How pip, Ivy and Java say that no registry could be reached.
NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeoutError|Name or service not known|Failed to resolve"
    r"|Temporary failure in name resolution|nodename nor servname|getaddrinfo failed|Network is unreachable"
    r"|No route to host|Connection refused|UnknownHostException|ConnectException|\bHost \S+ not found"
)


class Missing(UserError):
    """Something that the machine lacks; the text says what to install."""


def check_python(version: "tuple[int, ...]" = sys.version_info[:2]) -> None:
    """Python is 3.11 or newer and can make virtual environments; else Missing."""
    if version[:2] < PYTHON_NEEDED:
        needed = ".".join(map(str, PYTHON_NEEDED))
        raise Missing(f"Python {version[0]}.{version[1]} is too old: install Python {needed} or newer.")
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        raise Missing(f"this Python has no {error.name}: install it (Debian's package is python3-venv).") from None


def find_java(environ: "Mapping[str, str]") -> str:
    """The java that Spark would start: JAVA_HOME's if that is set, else the first on the PATH; Missing without one."""
    home = environ.get("JAVA_HOME", "")
    if not home:
        on_path = shutil.which("java", path=environ.get("PATH", ""))
        if not on_path:
            advice = "and put it on the PATH or let JAVA_HOME name it."
            raise Missing(f"Java was not found: install Java {JAVA_NEEDED} or newer {advice}")
        return on_path
    java = os.path.join(home, "bin", "java")
    if not os.access(java, os.X_OK):
        advice = f"let it name a Java {JAVA_NEEDED} or newer, or unset it."
        raise Missing(f"JAVA_HOME is {home}, which has no bin/java: {advice}")
    return java


def java_major(version_output: str) -> int:
    """The major version that `java -version` printed (1.8 is 8); 0 if it printed none."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', version_output)
    if not found:
        return 0
    first, second = int(found.group(1)), int(found.group(2) or 0)
    return second if first == 1 else first


def check_java(environ: "Mapping[str, str]" = os.environ) -> None:
    """The java that Spark would start is 17 or newer; else Missing."""
    java = find_java(environ)
    try:
        asked = subprocess.run(
            [java, "-version"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=JAVA_ANSWER_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{java} does not start ({error}): install Java {JAVA_NEEDED} or newer.") from None
    major = java_major(asked.stdout)
    if asked.returncode != 0 or major == 0:
        raise Missing(f"{java} did not tell its version: install Java {JAVA_NEEDED} or newer.")
    if major < JAVA_NEEDED:
        raise Missing(f"{java} is Java {major}, which is too old: install Java {JAVA_NEEDED} or newer.")


def is_network_missing(output: str) -> bool:
    """Whether a failed package tool's output says that it reached no registry."""
    return NO_NETWORK.search(output) is not None


def run_online(
    what: str, command: "list[str]", environ: "Mapping[str, str] | None" = None, *, is_said: bool = True
) -> None:
    """Run a command that needs the network, quietly; Missing with one sentence, or its last lines, when it fails.

    is_said: whether its first line is printed; False if an earlier line announced it.
    On a terminal the command's newest line is shown in place, so that a long download is seen to move.
    """
    if is_said:
        print(f"{what} ...", flush=True)
    lines: deque[str] = deque(maxlen=LINES_KEPT)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environ
    ) as process:
        for line in process.stdout or ():
            lines.append(line.rstrip())
            _show_in_place(lines[-1].strip())
    _show_in_place("")
    if process.returncode == 0:
        return
    if is_network_missing("\n".join(lines)):
        raise Missing(f"{what}: no package registry could be reached; connect to a network and try again.")
    last_words = [f"  {line}" for line in list(lines)[-LINES_SHOWN:]]
    raise Missing(f"{what}: {os.path.basename(command[0])} failed; its last words were", *last_words)


def _show_in_place(text: str) -> None:
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 1
        print("\r\033[K" + text[:width], end="", flush=True)


CHECKS: "dict[str, Callable[[], None]]" = {"python": check_python, "java": check_java}


def main(arguments: "list[str]") -> int:
    """Exit status 0 when nothing is missing, 2 with a sentence for the first thing that is, 130 when interrupted."""
    return run_program(lambda: _run(arguments))


def _run(arguments: "list[str]") -> None:
    if arguments[:1] == ["run"] and "--" in arguments:
        separator = arguments.index("--")
        run_online(" ".join(arguments[1:separator]), arguments[separator + 1 :])
        return
    for name in arguments:
        if name not in CHECKS:
            raise Missing(f"no check is named {name}: there are {' and '.join(CHECKS)}.")
        CHECKS[name]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
