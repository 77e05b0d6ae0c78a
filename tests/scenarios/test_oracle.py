"""The oracle: what must not change by accident, frozen in ``tests/golden/oracle``.

- ``digests``: the ``trace_sha256`` of the fleets below, bit for bit;
- ``worlds``: the SHA-256 of every file that ``pico-gz world`` generates for a few fleets;
- ``shapes``: keys and types of what ``--json`` prints, without values;
- ``options``: the option names of every command;
- ``schema``: the fleet file's schema without descriptions and definition names.

Only the command line, the public names and the pytest fixtures are used, so that the oracle
survives a move of the modules behind them; ``schema_text`` is the one deeper import. The fleets
are in ``oracle_fleets.py``, what happens to them in ``oracle_drives.py``.

A wanted change is frozen by name, and only that name::

    python tests/scenarios/test_oracle.py digests:ramp_ideal_square worlds:line

The command refuses to run without names and prints old and new values. Make one commit per change
of bits; its message names the fleets, the old and the new digests, and the reason. Each digest
that is frozen is also checked to depend on every feature in its fleet's ``off``.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from oracle_fleets import FILES, FLEETS, WORLDS, Fleet

from pico_gz.cli.app import main
from pico_gz.run.config.schema import schema_text

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests/golden/oracle"
FREEZE_VARIABLE = "PICO_GZ_ORACLE_FREEZE"
KINDS = ("digests", "worlds", "shapes", "options", "schema")
LEAST_MOVE_M = 0.05

# --- frozen values ---------------------------------------------------------------------------


def frozen(kind: str) -> dict[str, Any]:
    """All frozen values of a kind."""
    path = GOLDEN / f"{kind}.json"
    values: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return values


def is_to_freeze(kind: str, name: str) -> bool:
    return f"{kind}:{name}" in os.environ.get(FREEZE_VARIABLE, "").split()


def check(kind: str, name: str, value: Any) -> None:
    """Compare with what is frozen; store it instead when its name was given."""
    values = frozen(kind)
    old = values.get(name)
    if is_to_freeze(kind, name):
        values[name] = value
        text = json.dumps(dict(sorted(values.items())), indent=1, sort_keys=True)
        (GOLDEN / f"{kind}.json").write_text(text + "\n")
        log.warning("%s:%s\n  old %s\n  new %s", kind, name, _short(old), _short(value))
        return
    assert name in values, f"{kind}:{name} is not frozen"
    if old != value:
        difference = "\n".join(_differences(old, value)[:40])
        pytest.fail(f"{kind}:{name} has changed\n{difference}", pytrace=False)


log = logging.getLogger("oracle")


def _short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) < 100 else "sha256 " + hashlib.sha256(text.encode()).hexdigest()


def _differences(old: Any, new: Any, where: str = "") -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        keys = sorted({*old, *new})
        return [
            line
            for key in keys
            if old.get(key) != new.get(key)
            for line in _differences(old.get(key), new.get(key), f"{where}/{key}")
        ]
    return [f"  {where} frozen {json.dumps(old)}", f"  {where} now    {json.dumps(new)}"]


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """In an empty folder, without settings of the environment, and nothing left behind."""
    for name in [name for name in os.environ if name.startswith("PICO_GZ_")]:
        if name != FREEZE_VARIABLE:
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    kit_log = logging.getLogger("pico_gz")
    handlers = list(kit_log.handlers)
    yield
    kit_log.handlers[:] = handlers


@pytest.fixture
def pico_gz(capsys):
    """Runs a command line in this process; gives its exit code and what it printed."""

    def run(*arguments: object) -> tuple[int, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        return int(end.value.code or 0), capsys.readouterr().out

    return run


# --- digests ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """How a run ended: its digest, and how far every vehicle is from where it started [m]."""

    digest: str
    moved_m: dict[int, float]


@pytest.fixture
def outcome(pico_gz, sitl, tmp_path, monkeypatch):
    """Runs a fleet in a folder of its own."""
    runs = 0

    def run(fleet: Fleet) -> Outcome:
        nonlocal runs
        runs += 1
        folder = tmp_path / f"run_{runs}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        for name, text in FILES.items():
            (folder / name).write_text(text)
        (folder / "fleet.toml").write_text(fleet.toml)
        if fleet.drive is None:
            return run_by_command(fleet)
        opened = sitl("fleet.toml", **fleet.options)
        start = {r.id: (r.truth.north_m, r.truth.east_m) for r in opened}
        fleet.drive(opened)
        result = opened.session.result()
        end = {int(i): (v.north_m, v.east_m) for i, v in result.final.items()}
        opened.close()
        return Outcome(result.trace_sha256, {i: math.dist(start[i], end[i]) for i in end})

    def run_by_command(fleet: Fleet) -> Outcome:
        start, end = (result_of(fleet, "--duration", seconds) for seconds in (0.02, fleet.seconds))
        places = [
            {int(i): (v["north_m"], v["east_m"]) for i, v in result["final"].items()}
            for result in (start, end)
        ]
        moved_m = {i: math.dist(places[0][i], place) for i, place in places[1].items()}
        return Outcome(end["trace_sha256"], moved_m)

    def result_of(fleet: Fleet, *arguments: object) -> dict[str, Any]:
        name = ["fleet.toml"] if fleet.toml else []
        often = ("--json", "--speed", "max", "--port-offset", "auto")
        code, out = pico_gz("run", *name, *often, *fleet.arguments, *arguments)
        assert code == 0, out
        found: dict[str, Any] = json.loads(out)
        assert found["lost_steps"] == 0
        return found

    return run


def check_features(name: str, outcome: Callable[[Fleet], Outcome], digest: str) -> None:
    """Every feature that a fleet names changes its digest."""
    fleet = FLEETS[name]
    idle = [what for what in fleet.off if outcome(fleet.without(what)).digest == digest]
    assert not idle, f"{name}: these do not change the digest: {', '.join(idle)}"


@pytest.mark.parametrize("name", FLEETS)
def test_digest(name, outcome):
    fleet = FLEETS[name]
    found = outcome(fleet)
    still = [
        i
        for i, moved_m in found.moved_m.items()
        if moved_m < LEAST_MOVE_M and i not in fleet.standing
    ]
    assert not still, f"{name}: vehicles {still} have not moved"
    if is_to_freeze("digests", name):
        check_features(name, outcome, found.digest)
    check("digests", name, found.digest)


@pytest.mark.slow
@pytest.mark.parametrize("name", FLEETS)
def test_the_digest_depends_on_every_feature(name, outcome):
    check_features(name, outcome, frozen("digests")[name])


def test_the_fleets_cover_every_axis():
    texts = [fleet.toml for fleet in FLEETS.values()]
    files = [tomllib.loads(text) for text in texts]

    def used(key: str) -> set[Any]:
        return {
            match for text in texts for match in re.findall(rf'{key} = "(\w+(?::[a-z]+)?)', text)
        }

    assert len(FLEETS) >= 24
    assert set(frozen("digests")) <= set(FLEETS), "a frozen fleet is gone"
    assert used("preset") == {
        "ideal", "pico_trail_freenove", "pico_trail_ackermann", "ardupilot_skid", "ardupilot_car",
    }  # fmt: skip
    assert used("noise") == {"off", "low", "typical", "bad"}
    assert used("kind") >= {"ramp", "heightmap", "circle", "grid", "explicit", "disc"}
    assert used("autopilot") >= {"builtin", "external", "script:square", "script:circle"}
    counts = {file.get("fleet", {}).get("count") for file in files}
    assert counts >= {1, 3, 12, 255}


# --- worlds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORLDS)
def test_world(name, pico_gz, tmp_path):
    text, arguments = WORLDS[name]
    for file, content in FILES.items():
        Path(file).write_text(content)
    Path("fleet.toml").write_text(text)
    code, out = pico_gz("world", *(["fleet.toml"] if text else []), *arguments, "-o", "out")
    assert code == 0, out
    folder = tmp_path / "out"
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    digests = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
    check("worlds", name, digests)


# --- what programs read ----------------------------------------------------------------------

# Keys of these objects are names of events or vehicles, which come and go.
KEYED_BY_DATA = frozenset({"events"})
PIECE = re.compile(r"\d+|rover_\d+")


def shape_of(value: Any, *, keyed_by_data: bool = False) -> Any:
    """Keys and types of a JSON value; entries of a list, and those of each vehicle, are alike."""
    if isinstance(value, dict):
        found: dict[str, Any] = {}
        for key, inner in value.items():
            name = "*" if keyed_by_data or PIECE.fullmatch(key) else key
            inner_shape = shape_of(inner, keyed_by_data=key in KEYED_BY_DATA)
            found[name] = _either(found.get(name), inner_shape)
        return found
    if isinstance(value, list):
        shape: Any = None
        for entry in value:
            shape = _either(shape, shape_of(entry))
        return [] if shape is None else [shape]
    return "null" if value is None else type(value).__name__


def _either(first: Any, second: Any) -> Any:
    if first is None or first == second:
        return second
    if isinstance(first, dict) and isinstance(second, dict):
        return {key: _either(first.get(key), second.get(key, first.get(key)))
                for key in {**first, **second}}  # fmt: skip
    if isinstance(first, list) and isinstance(second, list):
        return [_either(*first, *second)] if first and second else first or second
    return "|".join(sorted({*str(first).split("|"), *str(second).split("|")}))


SHORT = ("--speed", "max", "--port-offset", "auto", "--adapter", "lightweight", "--json")


def _recording(pico_gz: Any, seed: int = 1) -> str:
    arguments = ("--rovers", 2, "--duration", 0.3, "--seed", seed, "--record", f"rec_{seed}")
    found: dict[str, Any] = json.loads(pico_gz("run", *arguments, *SHORT)[1])
    return str(found["recording"])


def _fleet_file(_: Any) -> str:
    Path.cwd().chmod(0o755)  # the containers' user must get in
    Path("fleet.toml").write_text("[fleet]\ncount = 2\n")
    return "fleet.toml"


def _bad_world(_: Any) -> str:
    Path("bad.sdf").write_text("<sdf>")
    return "bad.sdf"


def _world(pico_gz: Any) -> str:
    pico_gz("world", "--rovers", 2, "-o", "out")
    return "out"


# Name -> its exit code and its command line; a function stands for what it prepares.
SHAPES: dict[str, tuple[int, tuple[Any, ...]]] = {
    "adapters": (0, ("adapters", "--json")),
    "compose": (0, ("compose", _fleet_file, "-o", "compose.yaml", "--json")),
    "diff_equal": (0, ("diff", _recording, _recording, "--json")),
    "diff_other": (1, ("diff", _recording, lambda run: _recording(run, 2), "--json")),
    "doctor": (-1, ("doctor", "--json")),
    "error_of_a_file": (2, ("run", "nowhere.toml", "--json")),
    "error_of_an_option": (2, ("ports", "--rovers", "many", "--json")),
    "init": (0, ("init", "--json")),
    "lint": (1, ("lint", _bad_world, "--json")),
    "plot": (0, ("plot", _recording, "--json")),
    "ports": (0, ("ports", "--rovers", 2, "--adapter", "lightweight", "--no-check", "--json")),
    "ports_external": (
        0,
        (
            "ports",
            "--rovers",
            2,
            "--adapter",
            "gazebo",
            "--autopilot",
            "external",
            "--no-check",
            "--json",
        ),
    ),
    "rerun": (0, ("rerun", _recording, "--json")),
    "run": (0, ("run", "--rovers", 2, "--duration", 2.5, *SHORT)),
    "run_recorded": (0, ("run", "--duration", 0.2, "--record", "rec", *SHORT)),
    "world": (0, ("world", "--rovers", 2, "-o", "out", "--json")),
    "world_check": (1, ("world", "--rovers", 1, "-o", _world, "--check", "--json")),
}


@pytest.mark.parametrize("name", SHAPES)
def test_json_shape(name, pico_gz):
    expected, words = SHAPES[name]
    words = tuple(word(pico_gz) if callable(word) else word for word in words)
    code, out = pico_gz(*words)
    assert expected in (code, -1), out
    check("shapes", name, shape_of(json.loads(out)))


def test_json_shape_of_ctl(pico_gz):
    command = [sys.executable, "-m", "pico_gz", "run", "--rovers", "2", "--duration", "0"]
    command += ["--port-offset", "auto", "--adapter", "lightweight"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline()  # it has started
            pico_gz("ctl", "pause")
            pico_gz("ctl", "step", 3)
            code, out = pico_gz("ctl", "status", "--json")
        finally:
            running.terminate()
    assert code == 0, out
    check("shapes", "ctl", shape_of(json.loads(out)))


OPTION = re.compile(r"(?<!\S)--?[a-zA-Z][\w-]*")


def _commands(help_text: str) -> list[str]:
    section = help_text.partition("\nCommands:\n")[2].partition("\n\n")[0]
    return [line.split()[0] for line in section.splitlines()]


def _option_names(help_text: str) -> list[str]:
    lines = [line for line in help_text.splitlines() if re.match(r"  --?\w", line)]
    heads = [re.split(r"\s{2,}", line.strip())[0] for line in lines]
    return sorted(
        {name for head in heads for name in re.findall(r"(?<!\S)--?[a-zA-Z][\w-]*", head)}
    )


def test_options(pico_gz):
    text = pico_gz("--help")[1]
    commands = {"pico-gz": _option_names(text)}
    for name in _commands(text):
        commands[name] = _option_names(pico_gz(name, "--help")[1])
    assert "--json" in commands["run"]
    for name in {**frozen("options"), **commands}:
        check("options", name, commands.get(name))


# --- the fleet file's schema -----------------------------------------------------------------


def _structure(node: Any, definitions: dict[str, Any]) -> Any:
    """A schema without descriptions, its references replaced by what they name."""
    if isinstance(node, list):
        return [_structure(entry, definitions) for entry in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        named = definitions[node["$ref"].rpartition("/")[2]]
        return _structure({**named, **{k: v for k, v in node.items() if k != "$ref"}}, definitions)
    return {
        key: {name: _structure(inner, definitions) for name, inner in value.items()}
        if key == "properties"
        else _structure(value, definitions)
        for key, value in node.items()
        if key not in ("$defs", "description", "title")
    }


def test_schema():
    shipped = json.loads((ROOT / "docs/fleet.schema.json").read_text())
    assert shipped == json.loads(schema_text())
    check("schema", "fleet_file", _structure(shipped, shipped["$defs"]))


# --- freezing --------------------------------------------------------------------------------


def freeze(names: list[str]) -> int:
    """Freeze the named values and compare all others."""
    known = {f"digests:{name}" for name in FLEETS} | {f"worlds:{name}" for name in WORLDS}
    known |= {f"shapes:{name}" for name in (*SHAPES, "ctl")} | {"schema:fleet_file"}
    unknown = [n for n in names if n not in known and not n.startswith("options:")]
    if not names or unknown:
        problem = f"unknown: {', '.join(unknown)}" if unknown else "nothing was named"
        lines = [*sorted(known), "options:COMMAND", f"Name what to freeze as KIND:NAME; {problem}."]
        sys.stderr.write("\n".join(lines) + "\n")
        return 2
    os.environ[FREEZE_VARIABLE] = " ".join(names)
    wanted = ["-q", "-p", "no:cacheprovider", "-m", "not slow", "--log-cli-level=WARNING"]
    return int(pytest.main([str(Path(__file__)), *wanted]))


if __name__ == "__main__":
    sys.exit(freeze(sys.argv[1:]))
