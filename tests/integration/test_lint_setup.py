"""Lint, pre-commit and coverage: one list, settings that apply to something, one gate."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]


def test_pre_commit_runs_what_the_test_script_runs():
    script = (ROOT / "scripts/test").read_text()
    checks = re.findall(r"^check (.+)$", script, re.M)
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    entries = re.findall(r"^\s+entry: \.venv/bin/python -m (.+)$", hooks, re.M)
    assert entries == checks
    assert len(checks) == 3
    assert hooks.count("pass_filenames: false") == len(entries)


def test_every_exemption_from_lint_applies_to_a_file():
    for pattern in SETTINGS["ruff"]["lint"]["per-file-ignores"]:
        assert any(ROOT.glob(pattern)), f"{pattern} matches nothing"


def test_nothing_but_the_gate_sets_a_limit_of_coverage():
    report = SETTINGS["coverage"]["report"]
    assert report["fail_under"] >= 95
    assert "omit" not in {**SETTINGS["coverage"]["run"], **report}


# Logs what it is asked to do and what it would measure with.
FAKE_PYTHON = """#!/usr/bin/env bash
[ "$1" != -c ] || exit {version}
echo "$* start=${{COVERAGE_PROCESS_START##*/}} core=$COVERAGE_CORE file=${{COVERAGE_FILE##*/}}"
[ "$3" != report ] || exit {report}
"""


@pytest.fixture
def source(tmp_path):
    """Run a line of shell after the scripts were sourced, with a false Python."""

    def run(line, *, version=0, report=0, **variables):
        python = tmp_path / "venv/bin/python"
        python.parent.mkdir(parents=True, exist_ok=True)
        python.write_text(FAKE_PYTHON.format(version=version, report=report))
        python.chmod(0o755)
        program = (
            f'set -eu; . scripts/_venv.sh; . scripts/_coverage.sh; COVERAGE_DATA="$DATA"; {line}'
        )
        environment = {
            "PATH": os.environ["PATH"],
            "PICO_GZ_VENV": str(tmp_path / "venv"),
            "DATA": str(tmp_path / "data"),
            **variables,
        }
        return subprocess.run(
            ["bash", "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True
        )

    return run


def test_without_coverage_nothing_is_measured(source):
    done = source('coverage_start; measured "$VENV/bin/python" -m pytest; coverage_gate')
    assert done.stdout == "-m pytest start= core= file=\n"
    assert done.returncode == 0


@pytest.mark.parametrize(("version", "core"), [(0, "sysmon"), (1, "ctrace")])
def test_with_coverage_the_run_is_measured(source, version, core):
    done = source('measured "$VENV/bin/python" -m pytest', version=version, PICO_GZ_COVERAGE="on")
    assert done.stdout == f"-m pytest start=pyproject.toml core={core} file=data\n"


def test_what_an_earlier_run_measured_is_forgotten(source):
    done = source("coverage_start", PICO_GZ_COVERAGE="on")
    assert done.stdout == "-m coverage erase start= core= file=data\n"


@pytest.mark.parametrize("report", [0, 2])
def test_the_gate_fails_below_the_limit(source, report):
    done = source("coverage_gate", report=report, PICO_GZ_COVERAGE="on")
    assert done.returncode == report
    assert "== coverage" in done.stderr


@pytest.mark.parametrize(
    ("every_test", "version", "expected"), [("yes", 0, "on"), ("yes", 1, "off"), ("no", 0, "off")]
)
def test_coverage_is_on_where_it_is_quick(source, every_test, version, expected):
    done = source(f"coverage_default {every_test}", version=version)
    assert done.stdout.strip() == expected
    assert ("not measured" in done.stderr) == ((every_test, expected) == ("yes", "off"))


def test_only_the_whole_suite_of_all_is_measured():
    script = (ROOT / "scripts/test").read_text()
    assert 'PICO_GZ_COVERAGE:-$(coverage_default "$all")' in script
    whole, _, part = script.partition("coverage_gate || failed")
    assert "whole_suite" in whole
    assert "whole_suite" not in part
