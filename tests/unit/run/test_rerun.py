"""A repetition proves what it says: nothing less than the recorded run, and how much of it."""

import json
import shutil

import pytest

from pico_gz import __version__
from pico_gz.cli.recordings import diff as diff_command
from pico_gz.cli.recordings import rerun as rerun_command
from pico_gz.run import rerun as rerun_module
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.run.recording.mcap_reader import McapReader, RecordingError
from pico_gz.run.recording.mcap_writer import McapFile
from pico_gz.run.recording.recorded_run import RecordedRun
from pico_gz.run.rerun import RerunBy, rerun

STEPS = 250


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A complete recording, not to be changed."""
    fleet = default_fleet(1, FleetOverrides(adapter="lightweight", speed="max"))
    options = RunOptions(
        demo=True,
        duration_s=2.5,
        record_dir=tmp_path_factory.mktemp("runs"),
        mavlink=False,
        control=False,
        check_ports=False,
    )
    with FleetRun(fleet, options) as session:
        return session.run().recording


@pytest.fixture
def folder(whole, tmp_path):
    """A copy of it, to be changed."""
    return shutil.copytree(whole, tmp_path / "run")


def change_facts(folder, **changes):
    path = folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def cut_after_first_chunk(folder):
    path = folder / "run.mcap"
    with McapReader(path) as reader:
        first = reader.chunks[0]
    path.write_bytes(path.read_bytes()[: first.chunk_start_offset + first.chunk_length])


def empty(folder):
    """A complete file without any step."""
    file = McapFile(folder / "run.mcap")
    file.finish()
    file.close()


def test_a_whole_run_comes_again(folder, capsys):
    assert rerun_command(folder) == 0
    out = capsys.readouterr().out
    assert out.endswith("The same, bit for bit.\n")
    with RecordedRun(folder) as run:
        result = rerun(run)
    assert (result.steps, result.run_steps, result.complete) == (STEPS, STEPS, True)
    assert result.run_sha256 == result.recorded_sha256 == result.rerun_sha256


def test_nothing_is_not_the_same_as_nothing(folder, whole):
    empty(folder)
    with pytest.raises(RecordingError, match="holds no step"):
        rerun_command(folder)
    with pytest.raises(RecordingError, match="holds no step"):
        diff_command(folder, folder)
    with pytest.raises(RecordingError, match="holds no step"):
        diff_command(whole, folder)


def test_a_recording_of_another_run_is_not_the_same(folder, capsys):
    facts = json.loads((folder / "run.json").read_text())
    change_facts(folder, result={**facts["result"], "trace_sha256": "0" * 64})
    assert rerun_command(folder) == 1
    out = capsys.readouterr().out
    assert "another run" in out
    assert out.endswith("Not the same.\n")


def test_a_part_is_told_to_be_one(folder, capsys):
    cut_after_first_chunk(folder)
    with RecordedRun(folder) as run:
        steps = sum(1 for _ in run.step_numbers())
    assert 0 < steps < STEPS
    assert rerun_command(folder) == 0
    words = f"Cut off after {steps} of {STEPS} steps; so far the same, bit for bit.\n"
    assert capsys.readouterr().out.endswith(words)
    assert rerun_command(folder, as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["complete"], told["steps"], told["run_steps"]) == (False, steps, STEPS)
    assert diff_command(folder, folder, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["complete"] is False


def test_a_run_without_a_result_is_told_to_be_one(folder, capsys):
    change_facts(folder, result=None)
    assert rerun_command(folder) == 0
    assert "no digest of the run" in capsys.readouterr().out


def test_both_versions_are_named(folder, capsys):
    change_facts(folder, version="0.0.1")
    rerun_command(folder)
    out = capsys.readouterr().out
    assert "by pico-gz 0.0.1\n" in out
    assert f"by pico-gz {__version__}\n" in out


def test_a_repetition_that_ends_before_the_recording_is_a_difference(folder, monkeypatch):
    monkeypatch.setattr(rerun_module, "_rerun_seed", lambda *_: None)
    with RecordedRun(folder) as run:
        result = rerun(run, RerunBy.SEED)
    assert not result.same
    assert (result.difference.step, result.difference.field) == (1, "length")
    assert (result.difference.first, result.difference.second) == ("continues", "ends before")
