"""``pico-gz ports``."""

import json

import pytest

from pico_gz.cli.app import run_command


@pytest.fixture
def fleet_file(tmp_path):
    def write(text):
        path = tmp_path / "fleet.toml"
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path, monkeypatch):
    """Parameter files are written below the folder of the caller."""
    monkeypatch.chdir(tmp_path)


def ports_json(capsys, *arguments):
    code = run_command(["ports", *arguments, "--no-check", "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_table(capsys):
    assert run_command(["ports", "--rovers", "2", "--no-check"]) == 0
    lines = capsys.readouterr().out.splitlines()
    row = next(line for line in lines if " 14551 " in line)
    assert row.split()[:3] == ["rover_2", "UDP", "14551"]


def test_json(capsys):
    code, plan = ports_json(capsys, "--rovers", "2", "--autopilot", "external")
    assert code == 0
    assert plan["mavlink_tcp"] == 5761
    servers = [port["port"] for port in plan["ports"] if port["purpose"] == "FDM server"]
    assert servers == [9002, 9012]
    assert len(plan["start_lines"]) == 2
    assert "ardurover --model JSON:127.0.0.1 -I 1 " in plan["start_lines"][1]


def test_the_table_shows_how_to_start_external_autopilots(capsys):
    run_command(["ports", "--rovers", "1", "--autopilot", "external", "--no-check"])
    assert "ardurover --model JSON" in capsys.readouterr().out.splitlines()[-1]


def test_the_parameters_that_those_lines_name_are_there(capsys, tmp_path):
    _, plan = ports_json(capsys, "--rovers", "1", "--autopilot", "external")
    folder = tmp_path / "runs" / "rover_1"
    assert f"cd {folder} && ardurover" in plan["start_lines"][0]
    assert "FRAME_CLASS 1" in (folder / "rover.parm").read_text()


def test_without_external_autopilots_nothing_is_written(capsys, tmp_path):
    ports_json(capsys, "--rovers", "1")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_does_not_hide_the_ports(capsys, tmp_path):
    (tmp_path / "runs").write_text("a file")
    command = ["ports", "--rovers", "1", "--autopilot", "external", "--no-check", "--json"]
    assert run_command(command) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["start_lines"]
    assert "rover.parm cannot be written" in err


def test_the_json_dialect_is_shown_the_other_way_round(capsys, fleet_file):
    path = fleet_file(
        '[fleet]\ncount=2\nadapter="mine"\n[adapters.mine]\ntype="gazebo"\n'
        "ardupilot_compat=false\nshared_socket=true\nsensor_port=29402\n"
    )
    _, plan = ports_json(capsys, path)
    wire = [(use["port"], use["role"]) for use in plan["ports"] if "JSON" in use["purpose"]]
    assert wire == [(29402, "bind"), (29403, "peer")]


def test_an_external_autopilot_without_truth_is_exit_2(capsys, fleet_file):
    path = fleet_file(
        '[fleet]\nautopilot="external"\nadapter="gazebo"\n[gazebo]\nardupilot_compat=false\n'
    )
    assert run_command(["ports", path]) == 2
    assert "JSON dialect" in capsys.readouterr().err


def test_offset(capsys):
    _, plan = ports_json(capsys, "--rovers", "1", "--port-offset", "300")
    assert plan["offset"] == 300
    assert 9302 in {port["port"] for port in plan["ports"]}


@pytest.mark.parametrize("offset", ["x", "1.5", ""])
def test_bad_offset(capsys, offset):
    code, answer = ports_json(capsys, "--port-offset", offset)
    assert code == 2
    assert "auto" in answer["error"]["message"]


def test_a_clash_is_exit_3_and_offers_a_way_out(capsys, fleet_file):
    path = fleet_file("[[vehicle]]\nfdm_port=9500\n[[vehicle]]\nfdm_port=9500\n")
    assert run_command(["ports", path]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "9500" in err
    assert "--port-offset auto" in err


def test_a_bad_file_is_exit_2_with_line_and_key(capsys, fleet_file):
    assert run_command(["ports", fleet_file("[fleet]\ncount = 0\nsed = 1\n")]) == 2
    err = capsys.readouterr().err
    assert "line 2: fleet.count" in err
    assert "line 3: fleet.sed: unknown key. Did you mean 'seed'?" in err


def test_a_missing_file_is_exit_2(capsys, tmp_path):
    assert run_command(["ports", str(tmp_path / "none.toml")]) == 2
    assert "pico-gz init" in capsys.readouterr().err


def test_warnings_go_to_stderr(capsys, fleet_file):
    path = fleet_file("[net]\nbind = '0.0.0.0'\n")
    assert run_command(["ports", path, "--no-check", "--json"]) == 0
    out, err = capsys.readouterr()
    json.loads(out)
    assert err.startswith("Warning: ")


def test_radio_ports_are_listed(capsys):
    assert run_command(["ports", "--rovers", "2", "--no-check"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "radio" in line]
    assert [row[:3] for row in rows] == [["rover_1", "UDP", "5501"], ["rover_2", "UDP", "5511"]]
