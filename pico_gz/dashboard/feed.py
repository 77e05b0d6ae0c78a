"""One browser's connection: what is new for it goes out, its requests come in.

Nothing is queued for a browser. Each time it is ready it gets what changed since the last time;
a slow one gets less often, and a stuck one gets nothing until it is cut off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from pico_gz.dashboard.audience import Audience
from pico_gz.dashboard.pulse import Pulse
from pico_gz.dashboard.requests import Request, carry_out, decode_request
from pico_gz.dashboard.source import ViewSource

SEND_LIMIT_S = 30.0
MAX_REQUESTS_UNDER_WAY = 8
# Who asks without reading the answers is not listened to until they are gone.
MAX_ANSWERS_WAITING = 64
# The rover that is looked at closely is told about every second beat.
FOCUS_EVERY = 2

_encode = msgspec.json.Encoder().encode


class ClientFeed:
    """Serves one WebSocket until either side leaves."""

    def __init__(
        self,
        websocket: WebSocket,
        source: ViewSource,
        *,
        pulse: Pulse,
        audience: Audience,
        workers: Executor,
    ) -> None:
        self._websocket = websocket
        self._source = source
        self._pulse = pulse
        self._audience = audience
        self._workers = workers
        self._focus = 0
        self._frame = self._figures = self._rows = self._plans = self._events = 0
        self._beats = 0
        self._answers: list[dict[str, Any]] = []
        self._requests: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Run both directions; returns when the browser has gone."""
        self._audience.set_focus(self, 0)
        sending = asyncio.create_task(self._send_news())
        receiving = asyncio.create_task(self._receive())
        try:
            done, _ = await asyncio.wait((sending, receiving), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except (WebSocketDisconnect, TimeoutError):
            pass
        finally:
            self._audience.leave(self)
            for task in (sending, receiving, *self._requests):
                task.cancel()
            await asyncio.gather(sending, receiving, return_exceptions=True)

    # --- out --------------------------------------------------------------------------------

    async def _send_news(self) -> None:
        await self._send(_encode(self._source.hello()))
        while True:
            for message in self._news():
                await self._send(message)
            await self._pulse.wait()

    async def _send(self, message: bytes) -> None:
        """Send bytes that are JSON as text, the others as they are."""
        outgoing: dict[str, Any] = {"type": "websocket.send"}
        if message[:1] == b"{":
            outgoing["text"] = message.decode()
        else:
            outgoing["bytes"] = message
        try:
            await asyncio.wait_for(self._websocket.send(outgoing), SEND_LIMIT_S)
        except RuntimeError as exc:
            # The server has closed the connection itself, after a message that was too long.
            raise WebSocketDisconnect from exc

    def _news(self) -> Iterator[bytes]:
        source = self._source
        answers, self._answers = self._answers, []
        yield from map(_encode, answers)
        if self._rows != source.rows.version:
            rows, self._rows = source.rows.after(self._rows), source.rows.version
            yield _encode({"t": "rows", "rows": rows})
        if self._plans != source.plans.version:
            plans, self._plans = source.plans.after(self._plans), source.plans.version
            yield _encode({"t": "plans", "plans": plans})
        if self._events != source.events.version:
            message, self._events = source.events.news(self._events)
            yield _encode(message)
        if self._figures != source.figures_number:
            self._figures = source.figures_number
            yield _encode({"t": "figures", **source.figures})
        if self._frame != source.frame_number:
            self._frame = source.frame_number
            yield source.frame
        yield from self._focus_news()

    def _focus_news(self) -> Iterator[bytes]:
        self._beats += 1
        if self._focus and self._beats % FOCUS_EVERY == 0:
            message = self._source.focus(self._focus)
            if message is not None:
                yield _encode(message)

    # --- in ---------------------------------------------------------------------------------

    async def _receive(self) -> None:
        while True:
            while len(self._answers) >= MAX_ANSWERS_WAITING:
                await self._pulse.wait()
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            request = decode_request(message.get("text") or "")
            if request.command == "focus":
                vehicle_id = request.arguments.get("id")
                self._focus = vehicle_id if isinstance(vehicle_id, int) else 0
                self._audience.set_focus(self, self._focus)
            elif len(self._requests) >= MAX_REQUESTS_UNDER_WAY:
                self._answers.append(request.refused("Too many requests at once."))
            else:
                task = asyncio.create_task(self._answer(request))
                self._requests.add(task)
                task.add_done_callback(self._requests.discard)

    async def _answer(self, request: Request) -> None:
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(
            self._workers, carry_out, request, self._source.commands
        )
        self._answers.append(answer)
