"""Deadlines and policies for vehicles that keep the fleet waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from pico_gz.errors import ConfigError

# What raises so often in a row is not called again: an adapter, an autopilot, an observer.
FAILURES_BEFORE_GIVING_UP = 3
_SLICE_S = 0.1  # at most this long without a look at deadlines and at a stop


def end_without_memory(error: Exception) -> None:
    """Raise an error that no adapter, autopilot or observer is to blame for: it ends the run."""
    if isinstance(error, MemoryError):
        raise error


class StallPolicy(StrEnum):
    """What happens when a vehicle does not answer within ``timeout_ms``."""

    WAIT = "wait"  # without a limit
    HOLD = "hold"  # continue with its last command
    NEUTRAL = "neutral"  # continue with 1500
    DROP = "drop"  # despawn it
    ABORT = "abort"  # end the run
    FREE_RUN = "free_run"  # the whole run continues in FreeRunning


@dataclass(frozen=True, slots=True, kw_only=True)
class StallRules:
    """When a stall is reported, when it is acted on, and how."""

    warn_ms: int = 500
    timeout_ms: int = 2000
    policy: StallPolicy = StallPolicy.NEUTRAL

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "policy", StallPolicy(self.policy))
        except ValueError:
            raise ConfigError(
                f"Unknown stall policy {self.policy!r}.", hint="One of: " + ", ".join(StallPolicy)
            ) from None
        if not 0 < self.warn_ms <= self.timeout_ms:
            raise ConfigError(
                f"Stall times {self.warn_ms}/{self.timeout_ms} ms do not fit.",
                hint="0 < stall_warn_ms <= stall_timeout_ms",
            )


Late = TypeVar("Late")


def wait_for(
    late: list[Late],
    poll: Callable[[float, list[Late]], list[Late]],
    warn: Callable[[list[Late], float], None],
    rules: StallRules,
    clock: Callable[[], float],
    stop: threading.Event,
) -> tuple[list[Late], float]:
    """Wait for what is late, as the rules say: the one place where a fleet waits.

    Args:
        late: what is waited for.
        poll: waits at most so many seconds; returns what is still late.
        warn: called once, after ``warn_ms``, with what is late and for how long [ms].
        rules: the deadlines; with the policy ``wait`` there is none.
        clock: monotonic wall clock [s].
        stop: ends the wait without giving up on anything.

    Returns:
        What is given up on at the deadline, and how long that lasted [ms].
    """
    started_s = clock()
    warned = False
    while late and not stop.is_set():
        deadline_ms = rules.timeout_ms if warned else rules.warn_ms
        left_s = deadline_ms / 1000.0 - (clock() - started_s)
        late = poll(min(_SLICE_S, max(0.001, left_s)), late)
        lasted_ms = (clock() - started_s) * 1000.0
        if late and not warned and lasted_ms >= rules.warn_ms:
            warned = True
            warn(late, lasted_ms)
        if late and lasted_ms >= rules.timeout_ms and rules.policy is not StallPolicy.WAIT:
            return late, lasted_ms
    return [], 0.0
