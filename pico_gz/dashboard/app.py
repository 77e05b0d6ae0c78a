"""The browser view: its web application, and how a run opens it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from pico_gz.errors import MissingExtraError
from pico_gz.session.dashboard import RunHandle

try:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import FileResponse, PlainTextResponse, Response
    from starlette.routing import Mount, Route, WebSocketRoute
    from starlette.staticfiles import StaticFiles
    from starlette.types import ASGIApp
    from starlette.websockets import WebSocket
except ImportError as exc:
    raise MissingExtraError("web", "The browser view") from exc

from pico_gz.dashboard.access import AccessGuard, choose_token
from pico_gz.dashboard.audience import Audience
from pico_gz.dashboard.feed import ClientFeed
from pico_gz.dashboard.live import LiveSource
from pico_gz.dashboard.metrics import CONTENT_TYPE
from pico_gz.dashboard.pulse import Pulse
from pico_gz.dashboard.server import ViewServer
from pico_gz.dashboard.source import ViewSource

STATIC = Path(__file__).parent / "static"
TOKEN_VARIABLE = "PICO_GZ_DASHBOARD_TOKEN"
WORKERS = 4


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
        server = ViewServer(make_app(source, token=token, port=port), host, port, token=token)
    except BaseException:
        source.close()
        raise
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
        self._audience = Audience(source)
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="pico-gz-view")
        self._pulse: Pulse | None = None

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self._pulse = Pulse(self._source)
        beating = asyncio.create_task(self._pulse.run())
        try:
            yield
        finally:
            beating.cancel()
            self._workers.shutdown(wait=False, cancel_futures=True)

    async def page(self, _: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def healthz(self, _: Request) -> Response:
        problems = self._source.problems(time.monotonic())
        text = "\n".join(problems) if problems else "ok"
        return PlainTextResponse(f"{text}\n", status_code=503 if problems else 200)

    async def metrics(self, _: Request) -> Response:
        return PlainTextResponse(self._source.metrics(), media_type=CONTENT_TYPE)

    async def state(self, _: Request) -> Response:
        return Response(msgspec.json.encode(self._source.state()), media_type="application/json")

    async def websocket(self, websocket: WebSocket) -> None:
        if self._pulse is None or not self._audience.has_room():
            await websocket.close(1013, "Too many browsers watch this run.")
            return
        await websocket.accept()
        feed = ClientFeed(
            websocket,
            self._source,
            pulse=self._pulse,
            audience=self._audience,
            workers=self._workers,
        )
        await feed.serve()
