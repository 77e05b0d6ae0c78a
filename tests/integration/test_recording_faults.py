"""Recordings of real runs meet kills, signals, full disks, and the tools of others."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from pico_gz.run.recording.diff import diff_runs
from pico_gz.run.recording.recorded_run import RecordedRun
from pico_gz.run.recording.recorder import RunRecorder

ROOT = Path(__file__).parents[2]
RUN = [sys.executable, "-m", "pico_gz", "run", "--adapter", "lightweight", "--port-offset", "auto"]


def start(folder, *options, **popen):
    return subprocess.Popen(
        [*RUN, "--rovers", "2", "--record", str(folder), "--json", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **popen,
    )


def run_to_end(folder, *options, **popen):
    process = start(folder, *options, **popen)
    out, err = process.communicate(timeout=100)
    return process.returncode, out, err


def wait_for_recording(folder, size):
    """Wait until a recording has so many bytes; returns its run folder."""
    end_s = time.monotonic() + 60.0
    while time.monotonic() < end_s:
        for path in folder.glob("*/run.mcap"):
            if path.stat().st_size >= size:
                return path.parent
        time.sleep(0.02)
    raise AssertionError("no recording came")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A short run that ended by itself; its result too."""
    folder = tmp_path_factory.mktemp("recorded")
    code, out, err = run_to_end(folder, "--duration", "5", "--speed", "max")
    assert code == 0, err
    return json.loads(out)


def test_a_recording_holds_the_whole_run(recorded):
    with RecordedRun(recorded["recording"]) as run:
        assert run.complete
        assert run.digest() == recorded["trace_sha256"]
        assert run.facts["result"]["trace_sha256"] == recorded["trace_sha256"]
        assert sum(1 for _ in run.step_numbers()) == recorded["steps"]
        assert {sample.vehicle_id for sample in run.samples()} == {1, 2}


def test_the_mcap_library_opens_it(recorded):
    library = pytest.importorskip("mcap.reader")
    with (Path(recorded["recording"]) / "run.mcap").open("rb") as stream:
        reader = library.make_reader(stream, validate_crcs=True)
        summary = reader.get_summary()
        names = {schema.name for schema in summary.schemas.values()}
        assert {"foxglove.PoseInFrame", "foxglove.LocationFix", "pico_gz.VehicleTruth"} <= names
        topics = {channel.topic for channel in summary.channels.values()}
        assert {"/rover_1/truth", "/rover_2/sensors", "/rover_1/actuators"} <= topics
        counted = sum(1 for _ in reader.iter_messages(topics=["/rover_1/truth"]))
        assert counted == recorded["steps"]


def test_mavlogdump_reads_the_telemetry_log(recorded):
    tool = Path(sys.executable).parent / "mavlogdump.py"
    if not tool.exists():
        pytest.skip("mavlogdump.py is not installed")
    (log, _) = sorted(Path(recorded["recording"]).glob("*.tlog"))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(tool), "--types", "HEARTBEAT", str(log)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "HEARTBEAT" in done.stdout


def test_the_same_run_gives_the_same_bytes(recorded, tmp_path):
    code, out, err = run_to_end(tmp_path, "--duration", "5", "--speed", "max")
    assert code == 0, err
    first, second = Path(recorded["recording"]), Path(json.loads(out)["recording"])
    for name in ("run.mcap", "vehicle_1.tlog", "vehicle_2.tlog"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


@pytest.mark.alone
def test_after_sigkill_at_most_a_second_is_lost(tmp_path):
    """F29: paced at half speed, where one chunk lasts two seconds of wall time."""
    process = start(tmp_path, "--duration", "0", "--speed", "0.5")
    try:
        folder = wait_for_recording(tmp_path, 5_000)
        time.sleep(1.5)
        looked_s = time.monotonic()
        with RecordedRun(folder) as before:
            reached_us = before.end_us
        # What was written is at most a second behind: wait until it has grown once more.
        while True:
            with RecordedRun(folder) as now:
                if now.end_us > reached_us:
                    break
            assert time.monotonic() < looked_s + 5.0, "nothing is written any more"
            time.sleep(0.02)
        gap_s = time.monotonic() - looked_s
    finally:
        process.kill()
        process.communicate(timeout=10)
    with RecordedRun(folder) as run:
        assert not run.complete
        steps = [view.step for view in run.steps()]
        assert steps == list(range(1, len(steps) + 1))
        assert run.end_us >= reached_us
    assert gap_s < 1.0 + 1.0, "one second, and one for a busy machine"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_after_a_signal_the_files_are_closed(tmp_path, number, code):
    """F31."""
    process = start(tmp_path, "--duration", "0", "--speed", "5")
    folder = wait_for_recording(tmp_path, 5_000)
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == code, err
    with RecordedRun(folder) as run:
        assert run.complete
        assert run.digest() == json.loads(out)["trace_sha256"]
        assert run.facts["result"]["trace_sha256"] == run.digest()


def test_a_full_disk_stops_the_recording_and_not_the_run(tmp_path):
    """F27: no file may grow beyond a few chunks."""
    limit = 150_000

    def small_disk():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    code, out, err = run_to_end(
        tmp_path, "--duration", "20", "--speed", "max", preexec_fn=small_disk
    )
    assert code == 0, err
    result = json.loads(out)
    assert result["sim_time_s"] == 20.0
    assert result["events"]["recording"] == 1
    with RecordedRun(result["recording"]) as run:
        steps = [view.step for view in run.steps()]
        assert steps == list(range(1, len(steps) + 1))
        assert 100 <= len(steps) < 2000
        assert not run.complete
        assert run.facts["result"]["steps"] == 2000
    assert (Path(result["recording"]) / "run.mcap").stat().st_size <= limit


def test_one_bit_is_found(recorded, tmp_path):
    """A planted difference of one bit, in step 321 of vehicle 2."""

    def flip(view):
        if view.step != 321:
            return view
        truth = view.truth[2]
        bits = int.from_bytes(msgspec.msgpack.encode(truth.east_m)[1:]) ^ 1
        east_m = msgspec.msgpack.decode(b"\xcb" + bits.to_bytes(8))
        changed = msgspec.structs.replace(truth, east_m=east_m)
        return msgspec.structs.replace(view, truth={**view.truth, 2: changed})

    recorder = RunRecorder(
        tmp_path / "run.mcap",
        name_of="rover_{}".format,
        sample=lambda *_: None,
        report=lambda event: None,
    )
    with RecordedRun(recorded["recording"]) as run:
        for view in run.steps():
            recorder(flip(view))
        (tmp_path / "run.json").write_text(json.dumps(run.facts))
    recorder.close()
    done = subprocess.run(
        [sys.executable, "-m", "pico_gz", "diff", recorded["recording"], str(tmp_path), "--json"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)["difference"]
    assert (found["step"], found["vehicle_id"]) == (321, 2)
    assert (found["channel"], found["field"]) == ("truth", "east_m")
    assert found["first"] != found["second"]
    with RecordedRun(recorded["recording"]) as one, RecordedRun(recorded["recording"]) as other:
        assert diff_runs(one, other) is None


@pytest.mark.parametrize("by", ["actuators", "seed"])
def test_a_recording_can_be_repeated(recorded, by):
    """D8: from the recorded actuators, and from the seed."""
    done = subprocess.run(
        [sys.executable, "-m", "pico_gz", "rerun", recorded["recording"], "--by", by, "--json"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["same"]
    assert answer["steps"] == recorded["steps"]
    assert answer["rerun_sha256"] == recorded["trace_sha256"]
