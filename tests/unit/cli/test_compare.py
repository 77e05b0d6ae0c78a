"""``pico-gz compare``: the same commands on two simulators."""

import json

import pytest

from pico_gz.cli.app import run_command

TWICE = ["compare", "--rovers", "1", "--second", "lightweight"]


def test_the_same_simulator_twice_is_nowhere_apart(capsys):
    assert run_command([*TWICE, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["adapters"] == ["lightweight", "lightweight"]
    assert told["worst"]["position_m"] == 0.0
    assert told["worst_heading"]["heading_deg"] == 0.0
    phases = told["vehicles"]["1"]["phases"]
    assert [phase["name"] for phase in phases] == [
        "straight", "right arc", "pivot left", "reverse"
    ]  # fmt: skip
    assert phases[0]["distance_m"][0] > 1.0
    assert phases[1]["turn_deg"][0] > 20.0
    assert phases[2]["turn_deg"][0] < -90.0


def test_tables_for_people_and_a_picture(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "difference.png"
    assert run_command([*TWICE, "--plot", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "position difference m" in out
    assert "Farthest apart: 0.000 m (rover 1, after 0.0 s) and 0.0 deg (rover 1, after" in out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_without_gazebo_it_is_exit_4_before_anything_is_driven(capsys, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert run_command(["compare", "--rovers", "1"]) == 4
    captured = capsys.readouterr()
    assert "no gz program" in captured.err
    assert "--adapter " not in captured.err  # compare has no such option
    assert "--adapters takes other simulators" in captured.err
    assert "Driving" not in captured.err


def test_an_unknown_simulator_is_bad_usage():
    assert run_command(["compare", "--second", "warp"]) == 2
