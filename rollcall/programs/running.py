"""How a program ends: its exit status, and its last message to the user.

Knows exit statuses and standard output. Must not know what a program does. Standard library only, and it must parse on
Python 3.6, because `rollcall.programs.preflight` runs by it before .venv exists: hence the quoted annotations.
"""

import os
import sys
import traceback
from collections.abc import Callable

from rollcall.programs.errors import UserError
from rollcall.programs.visible import visible

FAILED = 1
INTERRUPTED = 130


def run_program(main: "Callable[[], int | None]") -> int:
    """Runs a program and gives its exit status.

    It is main's own (None: 0). For a UserError it is the error's, 2, after `rollcall: sentence` on standard error; for
    Ctrl-C 130; for any other error 1, with the traceback, since that is our mistake. That the reader of
    standard output has gone, such as `head`, is not an error.
    """
    try:
        status = main() or 0
        sys.stdout.flush()
    except UserError as error:
        print("rollcall: " + "\n".join(visible(str(line)) for line in error.args), file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes standard output once more at its end, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:
        print("\n".join(visible(line) for line in traceback.format_exc().split("\n")), end="", file=sys.stderr)
        return FAILED
    return status
