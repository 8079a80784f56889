"""What every test shares: how hypothesis looks for examples. Must not know any layer of the project."""

from __future__ import annotations

import os

from hypothesis import settings

# No deadline: the machine is shared. In CI the same examples every time, so that a red run can be repeated.
settings.register_profile("rollcall", deadline=None, derandomize="CI" in os.environ, print_blob=True)
settings.load_profile("rollcall")
