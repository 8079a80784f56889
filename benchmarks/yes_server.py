"""`python -m benchmarks.yes_server`: answers every Heartbeat (v4) NONE and does nothing else.

With it a bench measures what its own client takes. Prints its port.
"""

from __future__ import annotations

import asyncio

_CORRELATION_ID = slice(8, 12)
_NONE = bytes(8)
"""Of the head and of the body what follows the correlation id."""


class YesConnection(asyncio.Protocol):
    """One client's connection; each request comes alone and whole."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        answer = data[_CORRELATION_ID] + _NONE
        self._transport.write(len(answer).to_bytes(4) + answer)


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(YesConnection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
