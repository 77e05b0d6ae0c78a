"""How simulation time and wall time belong together; the time modes."""

from __future__ import annotations

from dataclasses import dataclass

from pico_gz.core.units import US_PER_S
from pico_gz.errors import ConfigError

DEFAULT_STEP_US = 10_000


def _check_step(step_size_us: int) -> None:
    if step_size_us <= 0:
        raise ConfigError(f"A step of {step_size_us} us does not move time.", hint="Use 10000.")


def _check_factor(factor: float) -> None:
    if not 0.0 < factor < float("inf"):
        raise ConfigError(f"A speed of {factor} is not possible.", hint="Use a number above 0.")


@dataclass(frozen=True, slots=True)
class Lockstep:
    """The next step begins when all have finished this one; as fast as possible."""

    step_size_us: int = DEFAULT_STEP_US

    def __post_init__(self) -> None:
        _check_step(self.step_size_us)


@dataclass(frozen=True, slots=True)
class Scaled:
    """Lockstep, paced to ``factor`` times the wall clock."""

    factor: float = 1.0
    step_size_us: int = DEFAULT_STEP_US

    def __post_init__(self) -> None:
        _check_step(self.step_size_us)
        _check_factor(self.factor)


@dataclass(frozen=True, slots=True)
class FreeRunning:
    """Each adapter at its own wall-clock rate; the newest sensors win."""

    factor: float = 1.0
    step_size_us: int = DEFAULT_STEP_US

    def __post_init__(self) -> None:
        _check_step(self.step_size_us)
        _check_factor(self.factor)


def check_step_count(count: int) -> None:
    """Refuse a number of steps that cannot be done."""
    if not isinstance(count, int) or count < 0:
        raise ConfigError(f"Cannot do {count!r} steps.", hint="Use a whole number, 1 or more.")


def check_duration(duration_us: int | None) -> None:
    """Refuse a length of a run that never ends; ``None`` is meant not to."""
    if duration_us is not None and not 0 <= duration_us < float("inf"):
        raise ConfigError(f"Cannot run for {duration_us} us.", hint="None is without end.")


TimeMode = Lockstep | Scaled | FreeRunning


def with_speed(mode: TimeMode, factor: float | None) -> TimeMode:
    """The same kind of clock at another speed; ``None`` is as fast as possible."""
    if isinstance(mode, FreeRunning):
        if factor is None:
            raise ConfigError("A free-running clock follows the wall clock: give it a number.")
        return FreeRunning(factor, mode.step_size_us)
    if factor is None:
        return Lockstep(mode.step_size_us)
    return Scaled(factor, mode.step_size_us)


def speed_of(mode: TimeMode) -> float | None:
    """The speed it is paced to; ``None`` is as fast as possible."""
    return None if isinstance(mode, Lockstep) else mode.factor


class Pacer:
    """Computes how long to wait so that simulation time keeps to ``factor`` x wall time.

    After a stall it catches up at most ``MAX_BURST_STEPS`` steps and lets the rest slip: a
    fleet that was held for a second must not be shot through a hundred steps (faults.md F8).
    """

    MAX_BURST_STEPS = 5

    def __init__(self) -> None:
        self._anchor_wall_s: float | None = None
        self._anchor_sim_us = 0

    def restart(self) -> None:
        """Forget the past: after a pause, a change of speed or a single step."""
        self._anchor_wall_s = None

    def delay_s(self, mode: TimeMode, sim_time_us: int, wall_s: float) -> float:
        """Seconds to wait before the next step; 0 when it is due."""
        factor = speed_of(mode)
        if factor is None:
            return 0.0
        if self._anchor_wall_s is None:
            self._anchor_wall_s, self._anchor_sim_us = wall_s, sim_time_us
        due_s = self._anchor_wall_s + (sim_time_us - self._anchor_sim_us) / US_PER_S / factor
        behind_s = wall_s - due_s
        allowed_s = self.MAX_BURST_STEPS * mode.step_size_us / US_PER_S / factor
        if behind_s > allowed_s:
            self._anchor_wall_s += behind_s - allowed_s
        return max(0.0, -behind_s)
