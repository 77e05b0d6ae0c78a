"""One browser's connection, without a socket."""

import pytest

pytest.importorskip("starlette")

import asyncio
import json

from opened_runs import opened_run

from pico_gz.view.feed import ClientFeed, Refresher
from pico_gz.view.live import LiveSource


class Source:
    """Says hello and nothing else."""

    def __init__(self):
        self.watchers = []
        self.restarts = 0

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


def test_a_browser_gets_a_new_hello_and_everything_again_after_a_restore():
    with opened_run() as (session, run):
        source = LiveSource(run)
        source.set_watchers(1, ())
        feed = ClientFeed(None, source, Refresher(source), workers=None)
        session.bridge.step(100)
        saved = session.bridge.snapshot()
        source.refresh(1.0)
        kinds = [kind_of(message) for message in feed._updates()]
        assert "hello" not in kinds
        session.bridge.restore(saved)
        source.refresh(2.0)
        assert [kind_of(message) for message in feed._updates()] == ["hello", *kinds]
        source.close()


def kind_of(message):
    return json.loads(message)["t"] if message[:1] == b"{" else "frame"
