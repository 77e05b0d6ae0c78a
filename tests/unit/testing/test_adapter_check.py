"""The checker must find every broken rule: each bad adapter here breaks one."""

import itertools

import msgspec
import pytest

from pico_gz.core.messages import SensorCapabilities, SimulatorCapabilities
from pico_gz.errors import SimulatorError
from pico_gz.testing import AdapterCheckError, ScriptedAdapter, check_adapter
from pico_gz.testing.scripted_adapter import standing


def test_a_good_adapter_passes_every_check():
    assert "threads" in check_adapter(ScriptedAdapter)


class ReversedOrder(ScriptedAdapter):
    def _step(self, dt_us):
        return dict(reversed(list(super()._step(dt_us).items())))


class HalfSpeed(ScriptedAdapter):
    def _step(self, dt_us):
        return super()._step(dt_us // 2)


class WrongStamp(ScriptedAdapter):
    def _step(self, dt_us):
        super()._step(dt_us)
        return {i: standing(i, self._time_us - dt_us) for i in self.vehicle_ids()}


class Forgetful(ScriptedAdapter):
    def _step(self, dt_us):
        records = dict(super()._step(dt_us))
        records.pop(2, None)
        return records


class NeverConnected(ScriptedAdapter):
    def is_connected(self):
        return False


class Boastful(ScriptedAdapter):
    def _step(self, dt_us):
        return {
            i: type(r)(timestamp_us=r.timestamp_us, vehicle_id=i)
            for i, r in super()._step(dt_us).items()
        }


class Random(ScriptedAdapter):
    counter = itertools.count()

    def _step(self, dt_us):
        from pico_gz.core.messages import BarometerData, SensorData

        super()._step(dt_us)
        return {
            i: SensorData(
                timestamp_us=self._time_us,
                vehicle_id=i,
                barometer=BarometerData(1.0 + next(self.counter)),
            )
            for i in self.vehicle_ids()
        }


class Careless(ScriptedAdapter):
    def step(self, dt_us):
        self._mailbox.put(self._step(dt_us))


class OldTruth(ScriptedAdapter):
    def receive_truth(self):
        return {
            i: msgspec.structs.replace(truth, timestamp_us=0)
            for i, truth in super().receive_truth().items()
        }


class Locking(ScriptedAdapter):
    def sim_time_us(self):
        with self._lock:
            return super().sim_time_us()


class OnceOnly(ScriptedAdapter):
    def _connect(self):
        if self.sent is None:
            raise RuntimeError("cannot connect again")

    def _disconnect(self):
        self.sent = None


class NoGps(ScriptedAdapter):
    def capabilities(self):
        return SimulatorCapabilities(
            sensors=SensorCapabilities(imu=True, gps=True), max_rate_hz=1000.0, multi_vehicle=True
        )


class LoadsNothing(ScriptedAdapter):
    def load_state(self, state):
        pass


class LoadsTimeOnly(ScriptedAdapter):
    def load_state(self, state):
        self._time_us = state["time_us"]


class Deaf(ScriptedAdapter):
    def _send_actuators(self, commands):
        pass


class Clinging(ScriptedAdapter):
    def _add_vehicle(self, config):
        self._north_m.setdefault(config.id, 0.0)

    def _remove_vehicle(self, vehicle_id):
        pass


class Leaving(ScriptedAdapter):
    def _step(self, dt_us):
        raise SystemExit(3)


@pytest.mark.parametrize(
    ("adapter", "finding"),
    [
        (OldTruth, "time: truth is stamped"),
        (Locking, "never blocks: sim_time_us"),
        (OnceOnly, "life cycle: RuntimeError cannot connect again"),
        (NoGps, "capabilities: promises gps"),
        (LoadsNothing, "snapshot: load_state"),
        (LoadsTimeOnly, "snapshot: it continues differently"),
        (Deaf, "commands: commands do not move vehicle 1"),
        (Clinging, "removal: "),
        (Leaving, "id order: SystemExit 3"),
        (ReversedOrder, "id order"),
        (HalfSpeed, "time"),
        (WrongStamp, "time"),
        (Forgetful, "id order"),
        (NeverConnected, "life cycle"),
        (Boastful, "capabilities"),
        (Random, "determinism"),
        (Careless, "bad calls"),
    ],
)
def test_each_broken_rule_is_found(adapter, finding):
    with pytest.raises(AdapterCheckError) as caught:
        check_adapter(adapter)
    assert any(text.startswith(finding) for text in caught.value.findings)


def test_an_adapter_that_hangs_is_named_and_left_behind():
    adapters = []

    def hanging():
        adapters.append(ScriptedAdapter())
        adapters[-1].hang.set()
        return adapters[-1]

    with pytest.raises(AdapterCheckError) as caught:
        check_adapter(hanging, limit_s=0.2)
    for adapter in adapters:
        adapter.hang.clear()
    assert caught.value.findings == [
        "id order: has not returned within 0.2 s",
        "the other checks were left out: this one hangs",
    ]


def test_one_without_truth_and_without_snapshots_may_be_good():
    class Plain(ScriptedAdapter):
        def receive_truth(self):
            return {}

        def save_state(self):
            raise SimulatorError("cannot be snapshot")

    assert "snapshot" in check_adapter(Plain)
