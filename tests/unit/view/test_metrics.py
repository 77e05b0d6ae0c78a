import re

from pico_gz import SitlBridge, VehicleConfig
from pico_gz.bridge.published import BridgeEvent
from pico_gz.testing import ScriptedAdapter
from pico_gz.view.metrics import metrics_text

LINE = re.compile(r'^pico_gz_[a-z_]+(\{[a-z_]+="(?:[^"\\\n]|\\.)*"\})? -?[0-9.e+-]+$')


def make_bridge():
    bridge = SitlBridge()
    bridge.register_adapter(ScriptedAdapter())
    for vehicle_id in (1, 2):
        bridge.spawn_vehicle(VehicleConfig(id=vehicle_id))
    bridge.step(10)
    return bridge


def test_every_line_is_prometheus_text():
    bridge = make_bridge()
    bridge.events.add(BridgeEvent(time_us=0, kind='od"d\\kind\n', text="x"))
    for line in metrics_text(bridge, watchers=1, rtf=2.5).splitlines():
        assert line.startswith("# ") or LINE.match(line), line


def test_the_promised_names_are_there():
    text = metrics_text(make_bridge(), watchers=1, rtf=2.5)
    assert 'pico_gz_step_latency_seconds{quantile="0.99"} ' in text
    assert "pico_gz_real_time_factor 2.5\n" in text
    assert "pico_gz_lost_steps_total 0\n" in text
    assert "pico_gz_steps_total 10\n" in text
    assert 'pico_gz_vehicle_lag_seconds{vehicle="2"} 0\n' in text
    assert 'pico_gz_run_state{state="paused"} 0\n' in text
    assert "pico_gz_view_clients 1\n" in text
