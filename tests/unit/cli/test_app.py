"""The command table: lazy, helpful, and the same for every command."""

import ast
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from pico_gz import __version__
from pico_gz.cli import app
from pico_gz.cli.app import COMMANDS, run_command

CLI = Path(app.__file__).parent
MODULES = {target.partition(":")[0] for target, _ in COMMANDS.values()}
SHIPPED = [name for name, (target, _) in COMMANDS.items() if find_spec(target.partition(":")[0])]


def modules_after(arguments):
    """What a command line imports, in a process of its own."""
    code = (
        "import sys; from pico_gz.cli.app import run_command\n"
        f"run_command({arguments!r}); print(*sys.modules, file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(result.stderr.split())


def test_help_lists_every_command_and_the_exit_codes(capsys):
    assert run_command(["--help"]) == 0
    out = capsys.readouterr().out
    for name in SHIPPED:
        assert name in out
    assert "3        port in use" in out


def test_without_arguments_help_is_shown(capsys):
    assert run_command([]) == 0
    assert "Usage: pico-gz" in capsys.readouterr().out


def test_version(capsys):
    assert run_command(["--version"]) == 0
    assert capsys.readouterr().out == f"pico-gz {__version__}\n"


@pytest.mark.parametrize("name", SHIPPED)
def test_every_command_has_help_with_an_example_and_exit_codes(name, capsys):
    assert run_command([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"Usage: pico-gz {name}" in out
    assert f"\n    pico-gz {name}" in out, "no example, or not on a line of its own"
    assert "Exit codes:" in out


def test_help_imports_no_command():
    loaded = modules_after(["--help"])
    assert not MODULES & loaded
    assert not {"numpy", "pydantic_core", "pymavlink", "docker", "rich"} & loaded


def test_a_command_imports_only_itself():
    loaded = modules_after(["ports", "--no-check"])
    assert MODULES & loaded == {"pico_gz.cli.fleet_files"}
    assert not {"numpy", "pymavlink", "docker", "rich"} & loaded


def test_an_unknown_command_offers_the_nearest(capsys):
    assert run_command(["prots"]) == 2
    assert "Did you mean 'ports'" in capsys.readouterr().err


def test_an_unknown_option_is_a_usage_error(capsys):
    assert run_command(["ports", "--rovres", "3"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "--rovres" in err
    assert "pico-gz ports --help" in err


def test_usage_errors_are_json_too(capsys):
    assert run_command(["ports", "--rovers", "many", "--json"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["code"] == 2
    assert err == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ports", "--rovers", "many"], "'--rovers': expected a whole number."),
        (["run", "--duration", "long"], "'--duration': expected a number."),
        (["run", "--duration", "-1"], "A duration of -1 s is not possible."),
        (["run", "--mission-frame", "x"], "'--mission-frame': 'x': expected start or absolute."),
        (["run", "--speed", "fast"], "--speed fast: expected a number, or max."),
        (["run", "--port-offset", "x"], "--port-offset x: expected a whole number, or auto."),
        (["run", "--mission", "square", "--autopilot", "none"], "Error: --mission: no vehicle of"),
    ],
)
def test_a_wrong_value_is_explained_in_plain_words(arguments, words, capsys):
    assert run_command(arguments) == 2
    assert words in capsys.readouterr().err


def test_print_is_used_in_the_command_line_only():
    package = CLI.parent
    for path in package.rglob("*.py"):
        if CLI in path.parents:
            continue
        calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        names = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
        assert "print" not in names, path


def test_a_reader_that_left_is_no_error():
    process = subprocess.Popen(
        [sys.executable, "-m", "pico_gz", "ports", "--rovers", "200", "--no-check"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=30) == 0


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_no_error(closed):
    command = f"{sys.executable} -c 'from pico_gz.cli.app import main; main()' --version {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize(
    "command", [["adapters", "--json"], ["adapters"], ["ports", "--rovers", "0", "--json"]]
)
def test_a_full_disk_is_told_without_a_traceback(command):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pico_gz", *command],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
        )  # fmt: skip
    assert done.returncode in (1, 2)
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_the_interpreter_ends_without_a_search_for_cycles():
    """With a large fleet that takes longer than the run's own end."""
    program = (
        "import atexit, gc\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 1000))\n"
        "from pico_gz.cli.app import main\n"
        "main(['--version'])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "True"), done.stderr
