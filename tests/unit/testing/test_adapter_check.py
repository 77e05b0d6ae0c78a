"""The checker must find every broken rule: each bad adapter here breaks one."""

import itertools

import pytest

from pico_gz.testing import AdapterCheckError, ScriptedAdapter, check_adapter
from pico_gz.testing.scripted import standing


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
        from pico_gz.messages import BarometerData, SensorData

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


@pytest.mark.parametrize(
    ("adapter", "finding"),
    [
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
