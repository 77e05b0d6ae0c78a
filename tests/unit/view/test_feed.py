"""One browser's connection, without a socket."""

import pytest

pytest.importorskip("starlette")

import asyncio

from pico_gz.view.feed import ClientFeed, Refresher


class Source:
    """Says hello and nothing else."""

    def __init__(self):
        self.watchers = []

    def hello(self):
        return {"t": "hello"}

    def set_watchers(self, count, selected):
        self.watchers.append(count)


class ClosedByServer:
    """What is left of a WebSocket after a message that was too long."""

    async def send(self, message):
        raise RuntimeError("Unexpected ASGI message 'websocket.send'.")

    async def receive(self):
        await asyncio.Event().wait()


def test_a_connection_that_the_server_closed_ends_quietly():
    source = Source()
    feed = ClientFeed(ClosedByServer(), source, Refresher(source), workers=None)
    asyncio.run(asyncio.wait_for(feed.serve(), 5.0))
    assert source.watchers == [1, 0]
