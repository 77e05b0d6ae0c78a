"""A recording of a stranger is data: all that reads it writes, starts and sends nothing."""

import copy
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from mcap.records import Channel

from pico_gz.core.ports import DASHBOARD_PORT
from pico_gz.errors import ConfigError
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.run.recording.mcap_reader import RecordingError
from pico_gz.run.recording.mcap_writer import ChunkBuilder, McapFile
from pico_gz.run.recording.plots import plot_run
from pico_gz.run.recording.recorded_run import RecordedRun
from pico_gz.run.recording.run_folder import config_as_dict
from pico_gz.run.rerun import rerun

pytest.importorskip("uvicorn", reason="a replay needs the extra 'web'")

ROOT = Path(__file__).parents[2]
WATCHED = Path(__file__).with_name("watched_command.py")
SLACK_S = 1.0  # of a busy machine


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


VIEW_PORT, OTHER_PORT = free_port(), free_port()
# Each command that reads a recording: its arguments behind the folder.
COMMANDS = {
    "replay": ("--speed", "1000", "--dashboard-bind", f"127.0.0.1:{VIEW_PORT}"),
    "plot": ("-o", "OUT/plot.html"),
    "diff": ("RUN",),
    "rerun": (),
    "rerun_seed": ("--by", "seed"),
}
SQUARE = "QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t35.68\t139.76\t40\t1\n"


@pytest.fixture(scope="module")
def benign(tmp_path_factory):
    fleet = default_fleet(1, FleetOverrides(adapter="lightweight", speed="max"))
    options = RunOptions(
        demo=True,
        duration_s=0.3,
        record_dir=tmp_path_factory.mktemp("runs"),
        mavlink=False,
        control=False,
        check_ports=False,
    )
    with FleetRun(fleet, options) as session:
        return Path(session.run().recording)


def set_at(tree, path, value):
    *way, last = path
    for key in way:
        tree = tree[key]
    tree[last] = value


def crafted(benign, tmp_path, changes):
    """A copy of the recording whose run.json says something else."""
    folder = shutil.copytree(benign, tmp_path / "given" / "run")
    facts = json.loads((folder / "run.json").read_text())
    for path, value in changes.items():
        set_at(facts, path, copy.deepcopy(value))
    (folder / "run.json").write_text(json.dumps(facts))
    return folder


def command_line(command, folder, tmp_path):
    words = [command.partition("_")[0], str(folder), *COMMANDS[command]]
    return [
        word.replace("OUT", str(tmp_path / "out")).replace("RUN", str(folder)) for word in words
    ]


def watched(tmp_path, *lines):
    """Run commands; returns for each its exit code, words, time and what it did."""
    places = {name: tmp_path / name for name in ("out", "tmp", "home")}
    for place in places.values():
        place.mkdir(exist_ok=True)
    report = tmp_path / "report.json"
    done = subprocess.run(
        [sys.executable, str(WATCHED), str(report), json.dumps(lines)],
        env={
            **{key: value for key, value in os.environ.items() if not key.startswith("PICO_GZ")},
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(places["tmp"]),
            "HOME": str(places["home"]),
            "XDG_RUNTIME_DIR": str(places["home"]),
        },
        cwd=places["home"],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(report.read_text())


def is_trespass(kind, where, tmp_path):
    """Whether this is something that a recording may not cause."""
    if kind == "write":
        allowed = (tmp_path / "out", tmp_path / "tmp", Path(os.devnull))
        return not any(Path(where).is_relative_to(place) for place in allowed)
    if kind == "read":
        return "EVIL" in where or where in ("/etc/shadow", "/dev/zero")
    if kind == "socket.bind":
        return str(VIEW_PORT) not in where
    if kind == "import":
        return "evil" in where
    return kind != "ctypes.dlopen"


def trespasses(result, tmp_path):
    return [(kind, where) for kind, where in result["events"] if is_trespass(kind, where, tmp_path)]


EVIL = "/tmp/EVIL_of_a_recording"
CONFIG, VEHICLE = ("config",), ("config", "vehicles", 0)
ATTACKS = {
    "nothing": {},
    "name_absolute": {(*CONFIG, "name"): EVIL, ("inputs",): {"1/kept": "A,1\n"},
                      (*CONFIG, "source"): "/tmp/x.toml"},
    "name_up": {(*CONFIG, "name"): "../../EVIL", ("inputs",): {"1/kept": "A,1\n"},
                (*CONFIG, "source"): "/tmp/x.toml"},
    "fleet_name_of_facts": {("fleet",): "../../EVIL"},
    "vehicle_name_up": {(*VEHICLE, "config", "name"): "../../EVIL",
                        ("inputs",): {"1/kept": "A,1\n"}},
    "vehicle_name_in_facts": {("vehicles",): {"1": "\x1b]0;EVIL\x07"}},
    "version_escapes": {("version",): "\x1b]0;EVIL\x07"},
    "mission_absolute": {(*VEHICLE, "mission"): f"{EVIL}/m.plan"},
    "mission_up": {(*VEHICLE, "mission"): "..", ("inputs",): {"1/mission": SQUARE}},
    "mission_is_a_device": {(*VEHICLE, "mission"): "/dev/zero"},
    "mission_held": {(*VEHICLE, "mission"): f"{EVIL}.plan", ("inputs",): {"1/mission": SQUARE}},
    "params_absolute": {(*VEHICLE, "params"): "/etc/shadow"},
    "params_up": {(*VEHICLE, "params"): "../../EVIL.parm", ("inputs",): {"1/params": "A,1\n"}},
    "heightmap": {(*CONFIG, "terrain", "kind"): "heightmap",
                  (*CONFIG, "terrain", "file"): f"{EVIL}.csv"},
    "heightmap_is_a_device": {(*CONFIG, "terrain", "kind"): "heightmap",
                              (*CONFIG, "terrain", "file"): "/dev/zero"},
    "signing_key": {(*CONFIG, "signing_key_file"): f"{EVIL}.key"},
    "rc_script": {("options", "rc"): f"script:{EVIL}"},
    "rc_joystick": {("options", "rc"): f"joystick:{EVIL}"},
    "rc_udp": {("options", "rc"): "udp"},
    "adapter_module": {(*CONFIG, "adapters"): [{"name": "x", "type": "evil.module:Adapter"}],
                       (*VEHICLE, "config", "adapter"): "x"},
    "adapter_file": {(*VEHICLE, "config", "adapter"): f"{EVIL}.py"},
    "autopilot_module": {(*VEHICLE, "config", "autopilot"): "evil.module:Pilot"},
    "autopilot_script": {(*VEHICLE, "config", "autopilot"): "script:evil.module:Pilot"},
    "autopilot_external": {(*VEHICLE, "config", "autopilot"): "external"},
    "drive_model": {(*VEHICLE, "rover", "drive_model"): "evil.module:Model"},
    "sensor_model": {(*VEHICLE, "rover", "sensor_model"): "evil.module:Model"},
    "gazebo": {(*VEHICLE, "config", "adapter"): "gazebo",
               (*CONFIG, "gazebo", "world"): f"{EVIL}.sdf", (*CONFIG, "gazebo", "gui"): True},
    "gazebo_by_choice": {(*VEHICLE, "config", "adapter"): "auto"},
    "gazebo_address": {(*CONFIG, "gazebo", "server_addr"): "198.51.100.7",
                       (*CONFIG, "adapters"): [{"name": "g", "type": "gazebo", "options": {
                           "server_addr": "198.51.100.7", "bind_addr": "0.0.0.0"}}],
                       (*VEHICLE, "config", "adapter"): "g"},
    "addresses": {(*CONFIG, "net"): {"bind": "0.0.0.0", "gcs_host": "198.51.100.7",
                                     "dashboard": "0.0.0.0:9"}},
    "links": {(*CONFIG, "links"): [{"kind": "udpout", "host": "198.51.100.7", "port": 9}],
              (*VEHICLE, "links"): [{"kind": "tcpin", "host": "0.0.0.0", "port": 9}]},
    "ports": {(*CONFIG, "rules", "offset"): -9000, (*VEHICLE, "config", "fdm_port"): 1},
    "result_paths": {("result", "recording"): EVIL, ("fleet_file",): EVIL},
}  # fmt: skip
# What is not needed for a command does not keep it from working.
SHOWN = ("nothing", "mission_absolute", "mission_held", "params_absolute", "signing_key", "rc_udp",
         "rc_script", "addresses", "gazebo", "adapter_module", "autopilot_external", "mission_up",
         "result_paths", "heightmap", "gazebo_address")  # fmt: skip


@pytest.fixture(scope="module")
def attacked(benign, tmp_path_factory):
    """What every command did with every attack, in one process: (attack, command) -> result."""
    place = tmp_path_factory.mktemp("attacks")
    folders = {name: crafted(benign, place / name, ATTACKS[name]) for name in ATTACKS}
    before = contents(folders)
    keys = [(attack, command) for attack in ATTACKS for command in COMMANDS]
    lines = [command_line(command, folders[attack], place) for attack, command in keys]
    results = dict(zip(keys, watched(place, *lines), strict=True))
    assert contents(folders) == before, "a recording was changed"
    assert list((place / "tmp").iterdir()) == [], "temporary files are left"
    assert not list(Path("/tmp").glob("EVIL*"))
    return place, results


def contents(folders):
    return {path: path.read_bytes() for folder in folders.values() for path in folder.iterdir()}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_that_a_recording_names_is_used(attacked, attack, command):
    """R4: no write, program, import, address or file that it names."""
    place, results = attacked
    result = results[attack, command]
    code, words = result["code"], result["words"]
    assert trespasses(result, place) == [], words
    assert "defect" not in words
    assert "\x1b]" not in words
    assert code in (0, 1, 2, 130), words
    if attack in SHOWN and command in ("replay", "plot", "diff"):
        assert code in (0, 130), words
    assert result["took_s"] < 5.0


def test_the_watcher_sees_what_it_looks_for(benign, tmp_path):
    folder = str(crafted(benign, tmp_path, {}))
    plot, replay = watched(
        tmp_path,
        ["plot", folder, "-o", str(tmp_path / "else.html")],
        ["replay", folder, "--dashboard-bind", f"127.0.0.1:{OTHER_PORT}"],
    )
    assert any("else.html" in where for _, where in trespasses(plot, tmp_path))
    assert ("socket.bind", f"('127.0.0.1', {OTHER_PORT})") in trespasses(replay, tmp_path)


def test_a_link_in_the_folder_is_not_written_through(benign, tmp_path):
    folder = crafted(benign, tmp_path, {})
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for name in ("plot.png", "plot.html"):
        (folder / name).symlink_to(victim)
    drawn = plot_run(folder)
    assert victim.read_text() == "mine"
    assert drawn.is_file()
    assert not drawn.is_symlink()


def replace_by_link(path):
    path.unlink()
    path.symlink_to("/dev/zero")


def replace_by_pipe(path):
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("name", ["run.mcap", "run.json", "latency.csv"])
@pytest.mark.parametrize("replace", [replace_by_link, replace_by_pipe])
def test_files_of_a_recording_are_files(benign, tmp_path, name, replace):
    """A link to a device or a pipe would keep a reader waiting for ever."""
    folder = crafted(benign, tmp_path, {})
    replace(folder / name)
    commands = ("plot",) if name == "latency.csv" else COMMANDS
    lines = [command_line(command, folder, tmp_path) for command in commands]
    for result in watched(tmp_path, *lines):
        assert result["code"] == 2, result["words"]
        assert name in result["words"] or "no recording" in result["words"]
        assert trespasses(result, tmp_path) == []
        assert result["took_s"] < 2.0


def test_a_folder_of_runs_does_not_lead_elsewhere(benign, tmp_path):
    outside = shutil.copytree(benign, tmp_path / "outside")
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "newest").symlink_to(outside)
    with pytest.raises(RecordingError, match="no recording"):
        RecordedRun(runs)


def test_a_view_of_a_recording_is_on_loopback(benign, tmp_path):
    folder = crafted(benign, tmp_path, ATTACKS["addresses"] | ATTACKS["links"])
    with RecordedRun(folder) as run:
        fleet = run.fleet(tmp_path).fleet
    assert fleet.dashboard == ("127.0.0.1", DASHBOARD_PORT)
    assert (fleet.net.bind, fleet.net.gcs_host) == ("127.0.0.1", "127.0.0.1")
    assert fleet.links == fleet.vehicles[0].links == ()


def test_trust_uses_what_the_recording_names(benign, tmp_path):
    """And without it the hint names the option."""
    heights = tmp_path / "heights.csv"
    heights.write_text("0,0\n0,0\n")
    ground = {"kind": "heightmap", "file": str(heights)}
    folder = crafted(benign, tmp_path, {(*CONFIG, "terrain", key): ground[key] for key in ground})
    with RecordedRun(folder) as run, pytest.raises(ConfigError, match="not hold heightmap") as no:
        rerun(run)
    assert "--trust" in no.value.hint
    with RecordedRun(folder, trust=True) as run:
        assert run.fleet(tmp_path).fleet.terrain.file == str(heights)
        assert rerun(run).steps > 0


def write_run(folder, add):
    """A recording of one rover, made by hand."""
    config = config_as_dict(default_fleet(1, FleetOverrides(adapter="lightweight")))
    facts = {"vehicles": {"1": "rover_1"}, "config": config}
    file, chunk = McapFile(folder / "run.mcap"), ChunkBuilder()
    add(file, chunk)
    file.close()
    return facts


TRUTH = Channel(id=1, topic="/rover_1/truth", message_encoding="json", metadata={}, schema_id=0)
EVENTS = Channel(id=2, topic="/events", message_encoding="json", metadata={}, schema_id=0)


def one_truth(**changes):
    values = {"timestamp_us": 10_000, "vehicle_id": 1, "north_m": 0.0, "east_m": 0.0}
    fields = {**values, "down_m": 0.0, "quat_wxyz": [1.0, 0.0, 0.0, 0.0], **changes}
    return json.dumps(fields).encode()


def finish(file, chunk):
    file.note_channel(TRUTH)
    file.note_channel(EVENTS)
    file.write(chunk.seal())
    file.finish()


def many_dense_chunks(file, chunk):
    """Each may just pass; all together hold 3 GB."""
    chunk.add_messages([1], 1, 10_000_000, [one_truth() + b" " * 60_000_000])
    sealed = chunk.seal()
    for _ in range(50):
        file.write(sealed)
    file.note_channel(TRUTH)
    file.finish()


def one_chunk_many_times(file, chunk):
    chunk.add_messages([1], 1, 10_000_000, [one_truth()] * 1)
    file.note_channel(TRUTH)
    file.write(chunk.seal())
    file._chunks = file._chunks * 200_000
    file.finish()


def one_message_many_times(file, chunk):
    chunk.add_messages([1, 2], 1, 10_000_000, [one_truth(), b"[" * 10 + b"]" * 10])
    chunk._channels += [2] * 1_000_000
    chunk._times_ns += [0] * 1_000_000
    chunk._offsets += [chunk._offsets[1]] * 1_000_000
    finish(file, chunk)


def payload(data, channel=1):
    def add(file, chunk):
        chunk.add_messages([1], 1, 10_000_000, [one_truth()])
        chunk.add_messages([channel], 2, 20_000_000, [data])
        finish(file, chunk)

    return add


def declared_length(file, chunk):
    """The first record claims to be longer than any disk."""
    payload(one_truth())(file, chunk)
    os.pwrite(file._fd, struct.pack("<BQ", 6, 2**62), 8)
    file.cut(file.written - 1)


BOMBS = {
    "many_dense_chunks": (many_dense_chunks, {}),
    "one_chunk_many_times": (one_chunk_many_times, {}),
    "one_message_many_times": (one_message_many_times, {}),
    "declared_length": (declared_length, {}),
    "deep_event": (payload(b"[" * 100_000, 2), {}),
    "deep_unknown_key": (payload(b'{"x":' + b"[" * 100_000), {}),
    "no_text": (payload(b'{"kind":"\xff\xff"}', 2), {}),
    "vehicle_of_another_world": (payload(one_truth(vehicle_id=10**30)), {}),
    "negative_vehicle": (payload(one_truth(vehicle_id=-1)), {}),
    "time_beyond_time": (payload(one_truth(timestamp_us=10**40)), {}),
    "place_beyond_space": (payload(one_truth(north_m=1e308, east_m=-1e308)), {}),
    "deep_config": (payload(b"{}"), {"config": b"[" * 500_000}),
    "huge_config": (payload(b"{}"), {"config": [0] * 3_000_000}),
    "many_vehicles": (payload(b"{}"), {"vehicles": {str(i): "x" for i in range(100_000)}}),
    "huge_numbers": (payload(b"{}"), {"result": {"steps": 10**400}}),
    "many_latencies": (
        payload(one_truth()),
        {"result": {"latency_ms": {f"p{i}": 1.0 for i in range(100_000)}}},
    ),
}


def write_bomb(folder, bomb):
    add, changes = BOMBS[bomb]
    folder.mkdir(parents=True)
    facts = write_run(folder, add)
    deep = {key: value for key, value in changes.items() if isinstance(value, bytes)}
    shallow = {key: value for key, value in changes.items() if key not in deep}
    for key in deep:
        del facts[key]
    text = json.dumps({**facts, **shallow})
    for key, value in deep.items():
        text = text[:-1] + f', "{key}": ' + value.decode() + "}"
    (folder / "run.json").write_text(text)
    return folder


@pytest.fixture(scope="module")
def bombed(tmp_path_factory):
    place = tmp_path_factory.mktemp("bombs")
    folders = {bomb: write_bomb(place / bomb / "run", bomb) for bomb in BOMBS}
    keys = [(bomb, command) for bomb in BOMBS for command in COMMANDS]
    lines = [command_line(command, folders[bomb], place) for bomb, command in keys]
    # The first one imports what is imported on use.
    results = watched(place, lines[0], *lines)[1:]
    return place, dict(zip(keys, results, strict=True))


@pytest.mark.parametrize("bomb", BOMBS)
def test_sizes_counts_and_ratios_are_bounded(bombed, bomb):
    """R5: refused in a second by those that would need it; the others need not notice."""
    place, results = bombed
    for command in COMMANDS:
        result = results[bomb, command]
        assert "defect" not in result["words"], (command, result["words"])
        assert "Traceback" not in result["words"], (command, result["words"])
        assert result["code"] in (0, 1, 2, 130), (command, result["words"])
        assert result["took_s"] < 1.0 + SLACK_S, (command, result["took_s"], result["words"])
        assert len(result["words"]) < 2000, command
        assert trespasses(result, place) == []
    assert 2 in {results[bomb, command]["code"] for command in COMMANDS}, "none refuses it"
