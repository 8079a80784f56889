"""`rollcall demo`: a recorded incident in a browser, without Java and without a cluster.

Replays the packaged log into a temporary folder and serves its page until Ctrl-C. Knows which incident it is. Must not
know how a log is replayed or what is on a page.
"""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path

from rollcall.cli.replay import replay
from rollcall.programs.terminal import Terminal
from rollcall.serve.page.__main__ import serve
from rollcall.tables.home import Home

LOG = Path(__file__).with_name("demo.log.gz")
"""tests/captures/t-lag: three minutes of a real broker; its groups have lag, deploys, stuck and killed members.

Only the last line is added: the recording left METADATA out, which says which topic each id is.
"""
BEGINS = "rebalance?group=clicks-live&generation=5"
SAYS = (
    "rollcall: a consumer of clicks-live was killed: why it was removed and what that cost is at {address}{begins}",
    "rollcall:   {address} has all fifteen groups of that broker's request log, and the box for SQL",
    "rollcall: Ctrl-C ends it and leaves nothing behind.",
)


def show_demo(listen: str, *, opens_browser: bool) -> None:
    """Serves the incident until Ctrl-C. Raises UserError: the address cannot be listened on."""
    with tempfile.TemporaryDirectory(prefix="rollcall-demo-") as folder:
        replay(Home(folder), [LOG], {}, "UTC", Terminal(quiet=True))

        def begun(address: str) -> None:
            print("\n".join(SAYS).format(address=address, begins=BEGINS), flush=True)
            if opens_browser:
                webbrowser.open(address + BEGINS)

        serve(folder, None, listen, begun)
