"""Deadlines and policies for vehicles that keep the fleet waiting."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pico_gz.errors import ConfigError

# Whoever raises so often in a row is not asked again: an adapter, an autopilot, an observer.
FAILURES_BEFORE_GIVING_UP = 3


class StallPolicy(StrEnum):
    """What happens when a vehicle does not answer within ``timeout_ms``."""

    WAIT = "wait"  # for ever
    HOLD = "hold"  # go on with its last command
    NEUTRAL = "neutral"  # go on with 1500
    DROP = "drop"  # despawn it
    ABORT = "abort"  # end the run
    FREE_RUN = "free_run"  # the whole run goes on in FreeRunning


@dataclass(frozen=True, slots=True, kw_only=True)
class StallRules:
    """When a stall is told, when it is acted on, and how."""

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


class Waiting:
    """Follows one wait: what is waited for, since when, whether that was told."""

    def __init__(self, rules: StallRules, started_s: float) -> None:
        self._rules = rules
        self._started_s = started_s
        self._told = False

    def should_tell(self, now_s: float) -> bool:
        """True once, when the wait has lasted ``warn_ms``."""
        if self._told or (now_s - self._started_s) * 1000.0 < self._rules.warn_ms:
            return False
        self._told = True
        return True

    def is_over(self, now_s: float) -> bool:
        """Whether ``timeout_ms`` has passed; never with the policy ``wait``."""
        if self._rules.policy is StallPolicy.WAIT:
            return False
        return (now_s - self._started_s) * 1000.0 >= self._rules.timeout_ms

    def lasted_ms(self, now_s: float) -> float:
        """How long it has lasted [ms]."""
        return (now_s - self._started_s) * 1000.0

    def slice_s(self, now_s: float) -> float:
        """How long to wait before looking again [s]: to the next deadline, at most 0.1 s."""
        lasted_ms = self.lasted_ms(now_s)
        deadline_ms = self._rules.timeout_ms if self._told else self._rules.warn_ms
        return min(0.1, max(0.001, (deadline_ms - lasted_ms) / 1000.0))
