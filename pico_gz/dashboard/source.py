"""What a view shows: a run that goes on, or anything else that can tell the same."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from pico_gz.dashboard.changes import Changes
from pico_gz.dashboard.event_tail import EventTail
from pico_gz.dashboard.rows import Row
from pico_gz.session.control_server import Command


class ViewSource(Protocol):
    """Read and refreshed by the server thread only; nothing in it may wait.

    Attributes:
        frame: the newest positions, encoded; ``frame_number`` grows with every new one.
        figures: how the run goes; ``figures_number`` grows with every new set.
        rows: the fleet table, by vehicle id.
        plans: missions and fences, by vehicle id.
        events: what happened.
        commands: what a browser may ask for, by name; may wait, so they get their own thread.
    """

    frame: bytes
    frame_number: int
    figures: Mapping[str, Any]
    figures_number: int
    rows: Changes[int, Row]
    plans: Changes[int, dict[str, Any]]
    events: EventTail
    commands: Mapping[str, Command]

    def hello(self) -> dict[str, Any]:
        """What stands still, and what happened so far: the first message to a browser.

        Its ``timeline`` is ``{start_s, end_s}`` where ``seek`` can be asked for, else ``None``.
        """

    def refresh(self, now_s: float) -> None:
        """Bring everything up to date; called up to 20 times per second."""

    def set_audience(self, watchers: int, focused: Collection[int]) -> None:
        """How many watch, and at which vehicles they look closely."""

    def focus(self, vehicle_id: int) -> dict[str, Any] | None:
        """Everything about one vehicle; ``None`` when there is none of this id."""

    def state(self) -> dict[str, Any]:
        """Everything as one JSON object."""

    def metrics(self) -> str:
        """The figures as Prometheus text."""

    def problems(self, now_s: float) -> list[str]:
        """Why it is not well; nothing when all is well."""
