"""What every test shares: how hypothesis looks for examples. Must not know any layer of the project.

HYPOTHESIS_PROFILE=deep looks at fifty times as many as the default, `ci`; it takes minutes.
"""

from __future__ import annotations

import os

from hypothesis import settings

# No deadline: the machine is shared. In CI the same examples every time, so that a red run can be repeated.
settings.register_profile("ci", deadline=None, max_examples=100, derandomize="CI" in os.environ, print_blob=True)
settings.register_profile("deep", deadline=None, max_examples=5000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
