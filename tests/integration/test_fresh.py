"""``./scripts/fresh`` in an empty folder, with false commands; .ci/run has it run the real ones."""

import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from external_programs import need_program
from process_state import is_alive, wait_until

ROOT = Path(__file__).parents[2]
DECOYS = """
for name in docker gz ardurover chromium; do
    command -v $name >/dev/null && echo "$name is here"
done
true
"""
TELL = """\
#!/usr/bin/env bash
echo "command=${{0##*/}} $* home=$(ls -A ~) secret=${{SECRET-none}} index=${{PIP_INDEX_URL-none}}"
{more}
"""


@pytest.fixture
def project(tmp_path):
    """A checkout with the real ./scripts/fresh and commands that say what they see."""
    git = need_program("git", "--version")
    root = tmp_path / "a project"
    shutil.copytree(ROOT / "scripts", root / "scripts")

    def commit(run="", test=DECOYS):
        for name, more in (("run", run), ("test", test)):
            (root / "scripts" / name).write_text(TELL.format(more=more))
        author = ("-c", "user.name=a", "-c", "user.email=a@b")
        for words in (("init", "-q"), ("add", "-A"), (*author, "commit", "-q", "-m", "x")):
            subprocess.run([git, *words], cwd=root, check=True, timeout=30)
        return root

    return commit


@pytest.fixture
def places(tmp_path):
    """Where fresh places are made; a user without rights can come here, unlike to tmp_path."""
    with tempfile.TemporaryDirectory(prefix="places-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@pytest.fixture
def fresh(places, tmp_path):
    """Start ./scripts/fresh --folder."""
    bins = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

    def start(root):
        process = subprocess.Popen(
            [str(root / "scripts/fresh"), "--folder"],
            env={
                "PATH": bins,
                "HOME": str(tmp_path),
                "TMPDIR": str(places),
                "PIP_INDEX_URL": "an index",
                "SECRET": "a secret",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A suite that was started in the background ignores SIGINT, and so would the script.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        started.append(process)
        return process

    started = []
    yield start
    for process in started:
        with process:  # closes its pipes
            process.terminate()


def test_both_commands_run_in_a_clean_place_and_the_last_beside_decoys(project, fresh, places):
    process = fresh(project())
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    seen = "home=.config\npico-gz secret=none index=an index\n"
    commands = ("run --help", "run ", "test --version", "test ", "test ")
    lines = [f"command={words} {seen}" for words in commands]
    decoys = "docker is here\ngz is here\nardurover is here\nchromium is here\n"
    assert out.startswith("".join([*lines, decoys]))
    assert out.splitlines()[-1].endswith("in an empty folder with a clean PATH and HOME.")
    assert list(places.iterdir()) == []


def test_a_failure_is_named_and_the_rest_runs_all_the_same(project, fresh):
    process = fresh(project(run="[ $# -gt 0 ] || exit 7", test="! command -v chromium"))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    last = out.splitlines()[-1]
    assert last.startswith("FAILED in an empty folder with a clean PATH and HOME: ./scripts/run")
    assert "./scripts/run (exit code 7); ./scripts/test, with programs" in last
    assert err.count("== fresh: ./scripts/test: exit code 0") == 1


def test_ports_that_others_use_are_no_fault_of_the_commit(project, fresh):
    process = fresh(project(run="[ $# -gt 0 ] || exit 3"))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "./scripts/run: exit code 3" in err
    assert "./scripts/run --port-offset auto: exit code 0" in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_when_it_is_ended(project, fresh, places, number):
    process = fresh(project(run='[ $# -gt 0 ] || { echo "pid=$$"; exec sleep 1000; }'))
    while not (line := process.stdout.readline()).startswith("pid="):
        assert line, process.stderr.read()
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert list(places.iterdir()) == []
    pid = line.removeprefix("pid=").strip()
    wait_until(lambda: not is_alive(pid), "the end of its command", limit_s=10.0)


def test_what_a_killed_run_left_is_removed_by_the_next(project, fresh, places):
    gone = subprocess.Popen(["sleep", "0"])
    gone.wait()
    left = places / "pico-gz-fresh.left"
    left.mkdir()
    (left / "pid").write_text(f"{gone.pid}\n")
    process = fresh(project())
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert not left.exists()


def test_without_a_commit_it_says_so(fresh, tmp_path):
    need_program("git", "--version")
    shutil.copytree(ROOT / "scripts", tmp_path / "x/scripts")
    process = fresh(tmp_path / "x")
    _, err = process.communicate(timeout=30)
    assert process.returncode == 4
    assert "is no git checkout" in err
