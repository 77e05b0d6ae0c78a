import re

import pytest

from pico_gz import SitlBridge, VehicleConfig
from pico_gz.bridge.published import BridgeEvent
from pico_gz.run.health import Trouble
from pico_gz.run.overload import Pace
from pico_gz.testing import ScriptedAdapter
from pico_gz.view.metrics import metrics_text

LABEL = r'[a-z_]+="(?:[^"\\\n]|\\.)*"'
LINE = re.compile(rf"^pico_gz_[a-z_]+(\{{{LABEL}(,{LABEL})*\}})? -?[0-9.e+-]+$")

EMPTY = {"battery_v": None, "battery_percent": None}


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
    troubles = {2: (Trouble("failure", 1_500_000, 'gps "off"'),)}
    for line in metrics_text(bridge, watchers=1, rtf=2.5, troubles=troubles).splitlines():
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


def test_a_summary_has_a_sum():
    bridge = make_bridge()
    text = metrics_text(bridge, watchers=0, rtf=1.0)
    (total,) = re.findall(r"^pico_gz_step_latency_seconds_sum (\S+)$", text, re.MULTILINE)
    assert float(total) == pytest.approx(bridge.stats.latency.sum_s, rel=1e-6)
    assert 0.0 < float(total) < 10.0
    assert "pico_gz_step_latency_seconds_count 10\n" in text


def test_vehicles_have_battery_speed_estimate_error_and_troubles():
    bridge = make_bridge()
    truth = bridge.view.truth[2]
    text = metrics_text(
        bridge,
        watchers=0,
        rtf=1.0,
        rows={1: {"battery_v": 11.5, "battery_percent": None}, 2: {**EMPTY, "battery_percent": 40}},
        troubles={2: (Trouble("no_fix", 1_500_000, "GPS lost"),)},
        estimates={2: (truth.north_m + 3.0, truth.east_m - 4.0)},
        pace=Pace(reached=0.1, wanted=1.0, overloaded=True, costs=()),
    )
    assert 'pico_gz_vehicle_battery_volts{vehicle="1"} 11.5\n' in text
    assert 'pico_gz_vehicle_battery_percent{vehicle="2"} 40\n' in text
    assert 'pico_gz_vehicle_battery_percent{vehicle="1"}' not in text
    assert 'pico_gz_vehicle_speed_meters_per_second{vehicle="2"} ' in text
    assert 'pico_gz_vehicle_estimate_error_meters{vehicle="2"} 5\n' in text
    trouble = '{vehicle="2",kind="no_fix",why="GPS lost"} 1.5\n'
    assert f"pico_gz_vehicle_trouble_since_seconds{trouble}" in text
    assert "pico_gz_vehicles_in_trouble 1\n" in text
    assert "pico_gz_overloaded 1\n" in text
    assert re.search(r'^pico_gz_build_info\{version="[^"]+",python="3[^"]+"\} 1$', text, re.M)
