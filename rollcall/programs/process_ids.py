"""Whether a process of this machine still runs. Knows process ids; must not know whose they are."""

from __future__ import annotations

import os


def is_alive(process: int) -> bool:
    """Whether there is a process of that id, another user's included."""
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True
