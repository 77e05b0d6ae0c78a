"""The view's web application and its server thread."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import os
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import msgspec

from pico_gz.errors import MissingExtraError, PortClashError
from pico_gz.run.view_access import RunHandle

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import FileResponse, PlainTextResponse, Response
    from starlette.routing import Mount, Route, WebSocketRoute
    from starlette.staticfiles import StaticFiles
    from starlette.types import ASGIApp
    from starlette.websockets import WebSocket

    from pico_gz.view.access import AccessGuard, choose_token
    from pico_gz.view.feed import SEND_LIMIT_S, ClientFeed, Refresher
except ImportError as exc:
    raise MissingExtraError("web", "The browser view") from exc

from pico_gz.view.live import LiveSource
from pico_gz.view.metrics import CONTENT_TYPE
from pico_gz.view.source import ViewSource

STATIC = Path(__file__).parent / "static"
TOKEN_VARIABLE = "PICO_GZ_DASHBOARD_TOKEN"
WORKERS = 4
MAX_MESSAGE_BYTES = 65_536
STOP_LIMIT_S = 3.0
READ_LIMIT_S = 1.0


def open_dashboard(run: RunHandle) -> ViewServer:
    """Serve the view of a run on the address of its fleet file; the caller closes it.

    Raises:
        PortClashError: the address is in use or not ours.
        ConfigError: the environment has an unusable token.
    """
    host, port = run.fleet.dashboard
    token = choose_token(host, os.environ.get(TOKEN_VARIABLE, ""))
    source = LiveSource(run)
    try:
        app = make_app(source, token=token, port=port)
        # A container's every address is not this machine's: Compose publishes on loopback.
        is_published = run.fleet.outside is not None
        server = ViewServer(app, host, port, token=token, is_published=is_published)
    except BaseException:
        source.close()
        raise
    server.before_close(source.end)
    server.on_close(source.close)
    return server


def make_app(source: ViewSource, *, token: str = "", port: int = 0) -> ASGIApp:
    """The web application over a source, guarded by ``token`` (empty: loopback only)."""
    view = _View(source)
    app = Starlette(
        routes=[
            Route("/", view.page),
            Route("/healthz", view.healthz),
            Route("/metrics", view.metrics),
            Route("/api/state", view.state),
            WebSocketRoute("/ws", view.websocket),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        lifespan=view.lifespan,
    )
    return AccessGuard(app, token, port)


class _View:
    """The answers behind the addresses; all of them on the server's loop."""

    def __init__(self, source: ViewSource) -> None:
        self._source = source
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="pico-gz-view")
        self._refresher: Refresher | None = None

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self._refresher = Refresher(self._source)
        refreshing = asyncio.create_task(self._refresher.run())
        try:
            yield
        finally:
            refreshing.cancel()
            self._workers.shutdown(wait=False, cancel_futures=True)

    async def page(self, _: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def healthz(self, _: Request) -> Response:
        problems = self._source.problems(time.monotonic())
        text = "\n".join(problems) if problems else "ok"
        return PlainTextResponse(f"{text}\n", status_code=503 if problems else 200)

    async def _read(self) -> None:
        """Let the autopilots be read; a run that hangs is shown as it was."""
        loop = asyncio.get_running_loop()
        reading = loop.run_in_executor(self._workers, self._source.read_autopilots)
        with contextlib.suppress(Exception):
            await asyncio.wait_for(reading, READ_LIMIT_S)

    async def metrics(self, _: Request) -> Response:
        await self._read()
        return PlainTextResponse(self._source.metrics(), media_type=CONTENT_TYPE)

    async def state(self, _: Request) -> Response:
        await self._read()
        return Response(msgspec.json.encode(self._source.state()), media_type="application/json")

    async def websocket(self, websocket: WebSocket) -> None:
        if self._refresher is None or not self._refresher.has_room():
            await websocket.close(1013, "Too many browsers watch this run.")
            return
        await websocket.accept()
        feed = ClientFeed(websocket, self._source, self._refresher, self._workers)
        await feed.serve()


class _Server(uvicorn.Server):
    """Ends with every accepted connection closed, also those whose other end does not read."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        # Connections that were accepted a moment ago get their protocol, and are closed too.
        await asyncio.sleep(0.01)
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # a transport closes its socket with the loop's next turn


class ViewServer:
    """Serves an application from construction until ``close``.

    Args:
        app: what is served.
        host: address to listen on.
        port: 0 takes a free one.
        token: shown in the printed address; the application asks for it.
        is_published: by a container, so that ``host`` says nothing about this machine.

    Raises:
        PortClashError: the address cannot be had.
    """

    def __init__(
        self,
        app: ASGIApp,
        host: str,
        port: int,
        *,
        token: str = "",
        is_published: bool = False,
    ) -> None:
        self._socket = _listen(host, port)
        self.host, self.port = host, int(self._socket.getsockname()[1])
        self._token = token
        self._before_close: list[Callable[[], None]] = []
        self._is_published = is_published
        self._on_close: list[Callable[[], None]] = []
        self._server = _Server(
            uvicorn.Config(
                app,
                ws="websockets-sansio",
                ws_max_size=MAX_MESSAGE_BYTES,
                # Frames are small and dense: packing them costs more than it saves.
                ws_per_message_deflate=False,
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=1,
                lifespan="on",
            )
        )
        self._thread = threading.Thread(target=self._serve, name="pico-gz-view", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address to open in a browser, with the token if there is one."""
        return address_to_open(self.host, self.port, self._token)

    @property
    def line(self) -> str:
        """One line for people: where the view is."""
        everywhere = _is_any(self.host) and not self._is_published
        also = " (and on every other address of this machine)" if everywhere else ""
        return f"Browser view: {self.url}{also}"

    def before_close(self, action: Callable[[], None]) -> None:
        """Call ``action`` before browsers are disconnected."""
        self._before_close.append(action)

    def on_close(self, action: Callable[[], None]) -> None:
        """Call ``action`` when the server ends."""
        self._on_close.append(action)

    def close(self) -> None:
        """Disconnect all browsers and stop listening; harmless when called twice."""
        farewells, self._before_close = self._before_close, []
        for action in farewells:
            action()
        self._server.should_exit = True
        self._thread.join(STOP_LIMIT_S)
        self._socket.close()
        actions, self._on_close = self._on_close, []
        for action in actions:
            action()

    def _serve(self) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            self._server.run(sockets=[self._socket])


def address_to_open(host: str, port: int, token: str) -> str:
    """The address of a view for a browser on this machine; a token may be any text."""
    query = f"?token={quote(token, safe='')}" if token else ""
    return f"http://{_reachable(host)}:{port}/{query}"


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _cut_off_stuck(listener)
        listener.bind((host, port))
        listener.listen(64)
    except OSError as exc:
        listener.close()
        why = "is in use" if exc.errno == errno.EADDRINUSE else f"cannot be used: {exc.strerror}"
        raise PortClashError(
            f"The browser view's address {host}:{port} {why}.",
            hint="--dashboard-bind HOST:PORT takes another, --port-offset auto moves all ports.",
        ) from exc
    return listener


def _cut_off_stuck(listener: socket.socket) -> None:
    """Let the kernel end connections whose other end takes nothing any more.

    The server itself would keep waiting to deliver the last bytes to a browser that does not read.
    Accepted connections inherit the option; it exists on Linux only.
    """
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None:
        listener.setsockopt(socket.IPPROTO_TCP, option, int(SEND_LIMIT_S * 1000))


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _reachable(host: str) -> str:
    """An address that a browser on this machine can open."""
    if _is_any(host):
        return "127.0.0.1" if ":" not in host else "[::1]"
    return f"[{host}]" if ":" in host else host
