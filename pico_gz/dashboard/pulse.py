"""The beat of the server: 20 times per second the source is refreshed and all feeds wake up."""

from __future__ import annotations

import asyncio
import logging
import time

from pico_gz.dashboard.source import ViewSource

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
