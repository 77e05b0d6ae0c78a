"""Who watches, and at which rovers they look closely."""

from __future__ import annotations

from pico_gz.dashboard.source import ViewSource

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
