"""The kinds of trouble that alarms are of, and how bad each is: those that views find, and of a job.

Knows names; must not know how a trouble is found.
"""

from __future__ import annotations

from rollcall.answers.views.catalog import DETECTORS
from rollcall.answers.views.view import Severity

JOB_BEHIND, LEFT_OUT = "job_behind", "alarms_left_out"
KINDS: dict[str, Severity] = {
    **{name: view.detector.severity for name, view in DETECTORS.items() if view.detector is not None},
    JOB_BEHIND: "critical",
    LEFT_OUT: "warning",
}
"""Unless some are named, alarms are of all but those of severity info."""
