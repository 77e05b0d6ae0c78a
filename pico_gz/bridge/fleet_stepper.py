"""One step of the whole fleet, from sensors to sensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Generic, TypeVar

import msgspec

from pico_gz.bridge.adapter_runner import AdapterPhase
from pico_gz.bridge.autopilots import PilotPhase
from pico_gz.bridge.fleet import Fleet
from pico_gz.bridge.published import BridgeState, FleetView, RunStats
from pico_gz.bridge.stall import FAILURES_BEFORE_GIVING_UP
from pico_gz.core.messages import ActuatorCommands, SensorData, VehicleTruth
from pico_gz.core.snapshot import HasState

T = TypeVar("T")


class HookList(Generic[T]):
    """Callables that are told the same thing, one after the other."""

    def __init__(self, where: str, on_failure: Callable[[str, Exception], None]) -> None:
        self._where = where
        self._on_failure = on_failure
        self._hooks: list[Callable[[T], None]] = []
        self._failures: dict[Callable[[T], None], int] = {}

    def add(self, hook: Callable[[T], None]) -> None:
        """Tell ``hook`` from now on."""
        self._hooks = [*self._hooks, hook]

    def remove(self, hook: Callable[[T], None]) -> None:
        """Tell ``hook`` no more; harmless when it is not there."""
        self._hooks = [known for known in self._hooks if known != hook]

    def stateful(self) -> dict[str, HasState]:
        """Those that keep a state of their own, by class; they are part of a snapshot."""
        hooks: list[object] = list(self._hooks)
        return {type(hook).__name__: hook for hook in hooks if isinstance(hook, HasState)}

    def __call__(self, value: T) -> None:
        """Tell all of them."""
        for hook in self._hooks:
            try:
                hook(value)
            except Exception as exc:  # an observer must not end a run
                self._failed(hook, exc)
            else:
                if self._failures:
                    self._failures.pop(hook, None)

    def _failed(self, hook: Callable[[T], None], exc: Exception) -> None:
        self._failures[hook] = self._failures.get(hook, 0) + 1
        self._on_failure(self._where, exc)
        if self._failures[hook] >= FAILURES_BEFORE_GIVING_UP:
            self.remove(hook)


_TIME_OF = attrgetter("timestamp_us")


class FleetStepper:
    """Sensors to vehicles, commands to adapters, time goes on, the result is published.

    Attributes:
        time_us: the fleet's simulation time [us].
        view: what was published last.
        started_s: wall time at which the step under way began; 0 between steps.
        before_step: told the time before vehicles are run.
        after_step: told the view after it is published.
    """

    def __init__(
        self,
        fleet: Fleet,
        pilots: PilotPhase,
        adapters: AdapterPhase,
        *,
        clock: Callable[[], float],
        on_hook_failure: Callable[[str, Exception], None],
    ) -> None:
        self._fleet = fleet
        self._pilots = pilots
        self._adapters = adapters
        self._clock = clock
        self.before_step: HookList[int] = HookList("before a step", on_hook_failure)
        self.after_step: HookList[FleetView] = HookList("after a step", on_hook_failure)
        self.stats = RunStats()
        self.view = FleetView()
        self.records: Mapping[int, SensorData] = {}
        self.time_us = 0
        self.started_s = 0.0
        self._head_start_s = 0.0  # how long external autopilots have had the next step's records

    def run(
        self,
        step_us: int,
        state: BridgeState,
        *,
        lockstep: bool,
        move_adapters: bool,
        flat_out: bool = False,
    ) -> None:
        """Do one step.

        Args:
            step_us: how far time goes.
            state: what the view says of the bridge.
            lockstep: whether vehicles are waited for.
            move_adapters: False while they move themselves, free-running.
            flat_out: the next step follows at once, so external autopilots may begin it.
        """
        clock = self._clock
        self.started_s = clock()
        self.before_step(self.time_us)
        commands = self._run_pilots(lockstep, free_running=not move_adapters)
        if not move_adapters or self._adapters.advance(step_us, self.time_us):
            self.time_us += step_us
            self.stats.sim_us += step_us
            self._finish(commands, state)
            if flat_out and self._pilots.needs_truth:
                handed_s = clock()
                self._pilots.hand_over_early(self.records, self.view.truth, self.time_us)
                self.after_step(self.view)
                self._head_start_s = clock() - handed_s
            else:
                self.after_step(self.view)
        self.started_s = 0.0

    def go_on_from(
        self, time_us: int, records: Mapping[int, SensorData], state: BridgeState
    ) -> None:
        """Publish a restored moment; it counts as no step."""
        self.time_us = time_us
        self.records = records
        self._publish({}, self._truth(), state)

    def _finish(self, commands: Mapping[int, ActuatorCommands], state: BridgeState) -> None:
        slots = self._adapters.slots
        records: dict[int, SensorData] = {}
        for slot in slots.values():
            if not slot.failed:
                records.update(slot.records())
        if len(slots) > 1:
            records = dict(sorted(records.items()))
        self._count_step(records)
        self.records = records
        self._publish(commands, self._truth(), state)

    def _truth(self) -> dict[int, VehicleTruth]:
        slots = self._adapters.slots
        truth: dict[int, VehicleTruth] = {}
        for slot in slots.values():
            if not slot.failed:
                truth.update(slot.truth())
        return dict(sorted(truth.items())) if len(slots) > 1 else truth

    def _publish(
        self,
        commands: Mapping[int, ActuatorCommands],
        truth: Mapping[int, VehicleTruth],
        state: BridgeState,
    ) -> None:
        read_only = MappingProxyType
        self.view = FleetView(
            time_us=self.time_us,
            step=self.stats.steps,
            state=state,
            truth=read_only(truth),
            sensors=read_only(self.records),
            commands=read_only(commands),
        )

    def publish_state(self, state: BridgeState) -> None:
        """Publish the last step again with another state of the bridge."""
        self.view = msgspec.structs.replace(self.view, state=state)

    def _run_pilots(self, lockstep: bool, *, free_running: bool) -> dict[int, ActuatorCommands]:
        clock, now_us = self._clock, self.time_us
        started_s = clock()
        commands = self._pilots.run(self.records, self.view.truth, now_us, wait=lockstep)
        self._adapters.send(commands, now_us, free_running=free_running)
        self.stats.latency.add(clock() - started_s + self._head_start_s)
        self._head_start_s = 0.0
        return commands

    def _count_step(self, records: Mapping[int, SensorData]) -> None:
        self.stats.steps += 1
        if len(records) < len(self._fleet) or not _all_newer(records, self.records):
            self.stats.lost_steps += 1


def _all_newer(records: Mapping[int, SensorData], before: Mapping[int, SensorData]) -> bool:
    """Whether every vehicle's record is newer than the one it had before, if any."""
    newest_us = max(map(_TIME_OF, before.values()), default=-1)
    # Mostly all are newer than all, which is found without a look at each vehicle.
    if min(map(_TIME_OF, records.values()), default=0) > newest_us:
        return True
    return all(
        i not in before or record.timestamp_us > before[i].timestamp_us
        for i, record in records.items()
    )
