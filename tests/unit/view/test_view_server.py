"""The view's server leaves no connection open when it closes."""

import contextlib
import gc
import socket
import threading
import time
import warnings

import pytest

pytest.importorskip("uvicorn")

from pico_gz.view.app import STOP_LIMIT_S, ViewServer

HOST = "127.0.0.1"
PIECE = b"x" * 1_000_000
UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


async def endless(scope, receive, send):
    """Answers ``/`` with a word and all else with more than a client reads."""
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
    elif scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while True:
            await send({"type": "websocket.send", "bytes": PIECE})
    else:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while scope["path"] != "/":
            await send({"type": "http.response.body", "body": PIECE, "more_body": True})
        await send({"type": "http.response.body", "body": b"ok"})


@contextlib.contextmanager
def served():
    """A server, and a call that opens a connection to it and sends some bytes."""
    with contextlib.ExitStack() as clients:
        server = ViewServer(endless, HOST, 0)

        def client(*parts):
            connection = clients.enter_context(socket.create_connection((HOST, server.port), 10.0))
            for part in parts:
                connection.sendall(part)
                connection.recv(100)
            return connection

        try:
            yield server, client
        finally:
            server.close()


def leaks_of(server):
    """The warnings of sockets and transports that ``close`` left to the garbage collector."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        server.close()
        gc.collect()
    return [str(one.message) for one in seen if one.category is ResourceWarning]


REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((REQUEST,), id="kept alive"),
        pytest.param((b"GET /endless HTTP/1.1\r\nHost: here\r\n\r\n",), id="reads no answer"),
        pytest.param((UPGRADE,), id="reads no frame"),
    ],
)
def test_every_connection_is_closed(parts):
    with served() as (server, client):
        connections = [client(*parts) for _ in range(3)]
        time.sleep(0.2)  # until what is not read fills the buffers
        began_s = time.monotonic()
        assert leaks_of(server) == []
        assert time.monotonic() - began_s < STOP_LIMIT_S
        for connection in connections:
            assert at_end(connection)


def at_end(connection):
    """Whether the other side has closed, after all that it had sent before."""
    with contextlib.suppress(ConnectionResetError):
        while connection.recv(1 << 20):
            pass
    return True


def test_connections_that_open_while_it_closes_are_closed():
    with served() as (server, client):
        client(REQUEST)
        ended = threading.Event()

        def knock():
            for _ in range(100):
                with contextlib.suppress(OSError):
                    client()
                if ended.wait(0.001):
                    return

        knocking = [threading.Thread(target=knock) for _ in range(4)]
        for thread in knocking:
            thread.start()
        time.sleep(0.02)
        try:
            assert leaks_of(server) == []
        finally:
            ended.set()
            for thread in knocking:
                thread.join()
