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
MAX_CLIENTS = 32


class Refresher:
    """Refreshes a source for its browsers, which wait for it; used on the server's loop only."""

    def __init__(self, source: ViewSource) -> None:
        self._source = source
        self._refreshed = asyncio.Event()
        # Browser -> the vehicle it looks at closely; 0 for none.
        self._clients: dict[object, int] = {}

    async def wait(self) -> None:
        """Return after the next refresh."""
        await self._refreshed.wait()

    async def run(self) -> None:
        """Refresh until cancelled."""
        while True:
            started_s = time.monotonic()
            try:
                self._source.refresh(started_s)
            except Exception:  # one bad moment must not blind the view for good
                log.exception("the browser view could not be refreshed")
                await asyncio.sleep(1.0)
            done, self._refreshed = self._refreshed, asyncio.Event()
            done.set()
            spent_s = time.monotonic() - started_s
            # Never busier than half of the time, however large the fleet is.
            await asyncio.sleep(max(PERIOD_S - spent_s, spent_s))

    def has_room(self) -> bool:
        """Whether one more browser may watch."""
        return len(self._clients) < MAX_CLIENTS

    def watch(self, client: object, vehicle_id: int = 0) -> None:
        """Register a browser, or change the vehicle it looks at closely."""
        self._clients[client] = vehicle_id
        self._source.set_watchers(len(self._clients), set(self._clients.values()) - {0})

    def leave(self, client: object) -> None:
        """Forget a browser."""
        self._clients.pop(client, None)
        self._source.set_watchers(len(self._clients), set(self._clients.values()) - {0})


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
    """Run the command and return the answer; waits for the moment between two steps."""
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
# A browser that asks without reading the answers is not heard until they are gone.
MAX_ANSWERS_WAITING = 64
# Details of the selected rover are sent with every second refresh.
DETAILS_EVERY = 2

_encode = msgspec.json.Encoder().encode


class ClientFeed:
    """Serves one WebSocket until either side leaves."""

    def __init__(
        self, websocket: WebSocket, source: ViewSource, refresher: Refresher, workers: Executor
    ) -> None:
        self._websocket = websocket
        self._source = source
        self._refresher = refresher
        self._workers = workers
        self._selected = 0
        self._frame = self._figures = self._rows = self._plans = self._events = 0
        self._restarts = source.restarts
        self._refreshes = 0
        self._answers: list[dict[str, Any]] = []
        self._requests: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Run both directions; returns when the browser has gone."""
        self._refresher.watch(self)
        sending = asyncio.create_task(self._send_updates())
        receiving = asyncio.create_task(self._receive())
        try:
            done, _ = await asyncio.wait((sending, receiving), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except (WebSocketDisconnect, TimeoutError):
            pass
        finally:
            self._refresher.leave(self)
            for task in (sending, receiving, *self._requests):
                task.cancel()
            await asyncio.gather(sending, receiving, return_exceptions=True)

    # --- out --------------------------------------------------------------------------------

    async def _send_updates(self) -> None:
        await self._send(_encode(self._source.hello()))
        while True:
            for message in self._updates():
                await self._send(message)
            await self._refresher.wait()

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

    def _updates(self) -> Iterator[bytes]:
        source = self._source
        if self._restarts != source.restarts:
            self._restarts = source.restarts
            self._frame = self._figures = self._rows = self._plans = self._events = 0
            yield _encode(source.hello())
        answers, self._answers = self._answers, []
        yield from map(_encode, answers)
        if self._rows != source.rows.version:
            rows, self._rows = source.rows.after(self._rows), source.rows.version
            yield _encode({"t": "rows", "rows": rows})
        if self._plans != source.plans.version:
            plans, self._plans = source.plans.after(self._plans), source.plans.version
            yield _encode({"t": "plans", "plans": plans})
        if self._events != source.events.version:
            message, self._events = source.events.message_after(self._events)
            yield _encode(message)
        if self._figures != source.figures_number:
            self._figures = source.figures_number
            yield _encode({"t": "figures", **source.figures})
        if self._frame != source.frame_number:
            self._frame = source.frame_number
            yield source.frame
        self._refreshes += 1
        if self._selected and self._refreshes % DETAILS_EVERY == 0:
            details = source.details(self._selected)
            if details is not None:
                yield _encode(details)

    # --- in ---------------------------------------------------------------------------------

    async def _receive(self) -> None:
        while True:
            while len(self._answers) >= MAX_ANSWERS_WAITING:
                await self._refresher.wait()
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            request = decode_request(message.get("text") or "")
            if request.command == "focus":
                vehicle_id = request.arguments.get("id")
                self._selected = vehicle_id if isinstance(vehicle_id, int) else 0
                self._refresher.watch(self, self._selected)
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
