"""Wind over the whole world: a steady part and gusts."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from pico_gz.errors import ConfigError
from pico_gz.exact import FLOATS, exp
from pico_gz.simulator.random import normal, stream_key
from pico_gz.state import Stateful
from pico_gz.units import US_PER_S

AIR_DENSITY_KGPM3 = 1.225
# Gusts are drawn at these times and interpolated, so they do not depend on the step.
_TICK_US = 100_000


class WindConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The wind of a fleet file.

    Attributes:
        north_mps: steady wind blowing towards north, also ``east_mps``.
        gust_mps: standard deviation of the gusts, per axis.
        tau_s: how long a gust lasts.
    """

    north_mps: float = 0.0
    east_mps: float = 0.0
    gust_mps: float = 0.0
    tau_s: float = 5.0

    def __post_init__(self) -> None:
        """Refuse wind that cannot blow."""
        if not abs(self.north_mps) + abs(self.east_mps) < 200.0:
            raise ConfigError(f"Wind of {self.north_mps}, {self.east_mps} m/s: below 200 please.")
        if not (0.0 <= self.gust_mps < 100.0 and 0.0 < self.tau_s < 1e6):
            raise ConfigError("Gusts need gust_mps of 0 or more and tau_s above 0.")


class Wind(Stateful):
    """Steady wind plus a Gauss-Markov process per axis, keyed by the seed alone.

    Attributes:
        calm: no wind ever blows.
    """

    _state_fields: ClassVar[tuple[str, ...]] = ("_tick", "_before", "_after")

    def __init__(self, config: WindConfig, seed: int) -> None:
        self._config = config
        self.calm = config.north_mps == config.east_mps == config.gust_mps == 0.0
        self._keep = exp(FLOATS, -_TICK_US / US_PER_S / config.tau_s)
        self._stir = config.gust_mps * FLOATS.sqrt(1.0 - self._keep * self._keep)
        self._keys = tuple(stream_key(seed, 0, f"wind_{axis}") for axis in ("north", "east"))
        self._tick = 0
        self._before = [0.0, 0.0]
        self._after = [0.0, 0.0]
        if config.gust_mps > 0.0:
            self._before = [config.gust_mps * normal(key, 0) for key in self._keys]
            self._after = self._next(1)

    def at(self, now_us: int) -> tuple[float, float]:
        """Wind towards north and east [m/s]; ``now_us`` never goes back."""
        config = self._config
        if config.gust_mps == 0.0:
            return config.north_mps, config.east_mps
        while now_us >= (self._tick + 1) * _TICK_US:
            self._tick += 1
            self._before, self._after = self._after, self._next(self._tick + 1, self._after)
        share = (now_us - self._tick * _TICK_US) / _TICK_US
        gusts = [
            before + (after - before) * share
            for before, after in zip(self._before, self._after, strict=True)
        ]
        return config.north_mps + gusts[0], config.east_mps + gusts[1]

    def _next(self, tick: int, last: list[float] | None = None) -> list[float]:
        last = self._before if last is None else last
        return [
            self._keep * gust + self._stir * normal(key, tick)
            for gust, key in zip(last, self._keys, strict=True)
        ]
