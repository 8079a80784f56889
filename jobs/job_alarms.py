"""The alarms of a job's own home, sent by threads beside its query where its settings name receivers.

Knows when alarms begin and end. Must not know a trouble, nor a receiver: see the package alerts.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rollcall.programs.errors import ConfigError, UserError
from rollcall.programs.log_lines import tell
from rollcall.serve.alerts.receivers import Receiver, receivers_of
from rollcall.serve.alerts.settings import NOT_IN_A_STORE, PREFIX, AlertSettings
from rollcall.tables.home import Home

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from rollcall.serve.page.history import History

STOP_WITHIN_S = 2.0
"""Alarms that a receiver has not taken by then are sent after the next start."""


def receivers_for(home: Home, settings: AlertSettings) -> list[Receiver]:
    """The receivers of alarms. Raises ConfigError: a secret cannot be read, or the home cannot have alarms."""
    found = receivers_of(settings)
    if found and not home.is_local:
        raise ConfigError(f"{PREFIX}{found[0].name}: {NOT_IN_A_STORE}")
    return found


class JobAlarms:
    """Sends alarms until it is closed. history: the home's, if another part of the job refreshes it. registry: for
    their counters.
    """

    def __init__(
        self,
        home: Home,
        settings: AlertSettings,
        receivers: list[Receiver],
        history: History | None = None,
        registry: CollectorRegistry | None = None,
    ) -> None:
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        if not receivers:
            return
        # Imported here: a job without alarms does not need the modules that read a home.
        from rollcall.serve.alerts.watching import Alarms

        try:
            alarms = Alarms(home.path, settings, receivers, history, registry)
        except UserError as error:
            # A job must serve its clients even if alarms fail.
            tell(f"no alarms are sent: {error}", is_error=True)
            return

        def run() -> None:
            try:
                alarms.run(self._ended)
            finally:
                alarms.close()

        self._thread = threading.Thread(target=run, name="alarms", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(STOP_WITHIN_S)
