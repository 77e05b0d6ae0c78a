"""Who holds which pin, port or channel of a platform."""

from __future__ import annotations

from pico_gz.errors import ConfigError


class ClaimTable:
    """Keeps one owner per peripheral, so that two drivers never share a pin unnoticed."""

    def __init__(self, vehicle_id: int) -> None:
        self._vehicle_id = vehicle_id
        self._owners: dict[tuple[str, int], str] = {}

    def claim(self, kind: str, number: int, allowed: range, owner: str) -> None:
        """Give the peripheral to ``owner``.

        Raises:
            ConfigError: the board has none of that number, or somebody holds it.
        """
        if isinstance(number, bool) or number not in allowed:
            raise ConfigError(
                f"Vehicle {self._vehicle_id}: there is no {kind} {number}.",
                hint=f"{kind} runs from {allowed.start} to {allowed.stop - 1}.",
            )
        holder = self._owners.get((kind, number))
        if holder is not None:
            raise ConfigError(
                f"Vehicle {self._vehicle_id}: {kind} {number} is taken by {holder}.",
                hint="Close it first, or choose another.",
            )
        self._owners[kind, number] = owner

    def release(self, kind: str, number: int) -> None:
        """Let go of the peripheral; harmless when nobody holds it."""
        self._owners.pop((kind, number), None)

    def owner(self, kind: str, number: int) -> str | None:
        """Who holds it, ``None`` when nobody does."""
        return self._owners.get((kind, number))
