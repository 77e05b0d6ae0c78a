"""A wall clock and an autopilot for tests of whatever uses them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pico_gz.core.autopilot import AutopilotStatus


class FakeClock:
    """A monotonic clock [s] that moves by ``tick_s`` with every call: waits pass at once.

    With ``tick_s=0`` it moves only when ``now_s`` is set.
    """

    def __init__(self, tick_s: float = 0.0, *, now_s: float = 0.0) -> None:
        self.tick_s = tick_s
        self.now_s = now_s

    def __call__(self) -> float:
        self.now_s += self.tick_s
        return self.now_s


class FakeAutopilot:
    """An ``Autopilot`` that commands one pulse width and records its ticks.

    Attributes:
        pulse_us: what every channel is given; ``None`` leaves the outputs alone.
        ticks_us: when it ran; part of its saved state.
        fail_next: the next so many ticks raise ``RuntimeError``.
        platform: the board it was started on.
        current: what ``status`` returns.
    """

    def __init__(
        self,
        pulse_us: int | None = None,
        *,
        period_us: int = 20_000,
        channels: tuple[int, ...] = (1, 3),
        mode: str = "FAKE",
    ) -> None:
        self.pulse_us = pulse_us
        self.period_us = period_us
        self.ticks_us: list[int] = []
        self.fail_next = 0
        self.platform: Any = None
        self.current = AutopilotStatus(mode=mode, armed=True)
        self._channels = channels
        self._outputs: list[Any] = []

    def start(self, platform: Any) -> None:
        self.platform = platform
        if self.pulse_us is not None:
            self._outputs = [platform.create_pwm(channel) for channel in self._channels]

    def tick(self, now_us: int) -> None:
        self.ticks_us.append(now_us)
        if self.fail_next:
            self.fail_next -= 1
            raise RuntimeError("planted")
        for output in self._outputs:
            output.set_pulse_us(self.pulse_us)

    def status(self) -> AutopilotStatus:
        return self.current

    def save_state(self) -> dict[str, Any]:
        return {"ticks_us": list(self.ticks_us)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.ticks_us = list(state["ticks_us"])
