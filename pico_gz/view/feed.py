"""One browser's connection: updates out, requests in.

Nothing is queued for a browser. Each time it is ready it gets what changed since the last time;
a slow one gets less often, and a stuck one gets nothing until it is cut off.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from pico_gz.errors import PicoGzError
from pico_gz.run.control_socket import Command
from pico_gz.view.source import ViewSource

log = logging.getLogger(__name__)

PERIOD_S = 0.05


class Pulse:
    """Refreshes a source and lets coroutines wait for the next time."""

    def __init__(self, source: ViewSource) -> None:
        self._source = source
        self._next = asyncio.Event()

    async def wait(self) -> None:
        """Return at the next beat."""
        await self._next.wait()

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            started_s = time.monotonic()
            try:
                self._source.refresh(started_s)
            except Exception:  # one bad moment must not blind the view for good
                log.exception("the browser view could not be refreshed")
                await asyncio.sleep(1.0)
            beat, self._next = self._next, asyncio.Event()
            beat.set()
            spent_s = time.monotonic() - started_s
            # Never busier than half of the time, however large the fleet is.
            await asyncio.sleep(max(PERIOD_S - spent_s, spent_s))


MAX_CLIENTS = 32


class Audience:
    """Tells the source for whom it works; used on the server's loop only."""

    def __init__(self, source: ViewSource) -> None:
        self._source = source
        self._focus: dict[object, int] = {}

    def has_room(self) -> bool:
        """Whether one more may watch."""
        return len(self._focus) < MAX_CLIENTS

    def set_focus(self, client: object, vehicle_id: int) -> None:
        """Let a client watch; 0 looks at nobody in particular."""
        self._focus[client] = vehicle_id
        self._tell()

    def leave(self, client: object) -> None:
        """Let a client go."""
        self._focus.pop(client, None)
        self._tell()

    def _tell(self) -> None:
        focused = {vehicle_id for vehicle_id in self._focus.values() if vehicle_id}
        self._source.set_audience(len(self._focus), focused)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request; ``number`` comes back with the answer."""

    number: int
    command: str
    arguments: Mapping[str, Any]

    def done(self) -> dict[str, Any]:
        """The answer when it was carried out."""
        return {"t": "answer", "n": self.number, "ok": True}

    def refused(self, why: str, hint: str = "") -> dict[str, Any]:
        """The answer when it was not."""
        return {"t": "answer", "n": self.number, "ok": False, "message": why, "hint": hint}


def decode_request(text: str) -> Request:
    """Read ``{"n": 7, "command": "pause", ...}``; anything else becomes an unknown command."""
    try:
        decoded = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        decoded = None
    if not isinstance(decoded, dict):
        decoded = {}
    number, command = decoded.get("n"), decoded.get("command")
    return Request(
        number=number if isinstance(number, int) and not isinstance(number, bool) else 0,
        command=command if isinstance(command, str) else "",
        arguments=decoded,
    )


def carry_out(request: Request, commands: Mapping[str, Command]) -> dict[str, Any]:
    """Do it and return the answer; waits for the moment between two steps."""
    command = commands.get(request.command)
    if command is None:
        return request.refused(f"Unknown command {request.command[:40]!r}.")
    try:
        command(request.arguments)
    except PicoGzError as exc:
        return request.refused(exc.message, exc.hint)
    except Exception as exc:  # a browser's request must never end the view
        log.exception("a request of the browser view failed")
        return request.refused(f"{type(exc).__name__}: {exc}")
    return request.done()


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
