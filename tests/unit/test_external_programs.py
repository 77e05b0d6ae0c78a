"""Tests use a program of this machine only after it has answered, and find it in one way."""

import ast
from pathlib import Path

import external_programs
import pytest
from external_programs import COMPOSE_ANSWER, need_program, path_of, problem_of
from process_state import is_alive, wait_until

TESTS = Path(external_programs.__file__).parent
# In every Debian, however small; whatever else a test calls by its name may be missing or broken.
ALWAYS_HERE = {"sh", "bash", "sleep", "ldd", "tar"}
# These run only after the fixture ``engine`` has seen docker and dockerd work.
BEHIND_THE_ENGINE = {"docker_engine.py", "docker_images.py", "test_docker_commands.py"}
CALLS = {"run", "Popen", "call", "check_call", "check_output"}


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put a shell script on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    def make(name, text, first="#!/bin/sh"):
        (tmp_path / name).write_text(f"{first}\n{text}\n")
        (tmp_path / name).chmod(0o755)
        return name

    return make


def test_a_program_that_answers_is_found(program, tmp_path):
    name = program("docker", "echo Docker Compose version v2.26.1")
    assert problem_of(name, "compose", "version", answer=COMPOSE_ANSWER) == ""
    assert path_of(name) == str(tmp_path / "docker")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("echo 'unknown command: docker compose' >&2; exit 125",
         "'it compose' ends with code 125: unknown command: docker compose"),
        ("exit 1", "'it compose' ends with code 1: no message"),
        ("kill -9 $$", "'it compose' ends with code -9: no message"),
        ("echo docker-compose version 1.29.2", "an answer of another program"),
    ],
)  # fmt: skip
def test_a_program_that_does_not_work_is_not_used(program, text, words):
    assert words in problem_of(program("it", text), "compose", answer=COMPOSE_ANSWER)


def test_a_program_that_hangs_is_ended_with_its_children(program, tmp_path):
    name = program("it", f"sleep 1000 & echo $! > {tmp_path}/child; wait")
    assert problem_of(name, "--version", limit_s=2.0) == (
        "'it --version' gives no answer within 2 s"
    )
    child = (tmp_path / "child").read_text().strip()
    wait_until(lambda: not is_alive(child), "the end of its child", limit_s=10.0)


def test_what_is_not_there_or_cannot_start_is_a_reason_too(program):
    assert problem_of("no-such-program") == "there is no no-such-program here"
    name = program("it", "", first="#!/no/such/interpreter")
    assert "'it' does not start" in problem_of(name)


def test_the_skipped_test_says_why(program):
    with pytest.raises(pytest.skip.Exception, match="not checked: 'it --version' ends with code 3"):
        need_program(program("it", "exit 3"), "--version")


def found_in_another_way(path: Path) -> list[str]:
    """Where a file looks for a program itself, or calls one that may not work."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = getattr(node.func.value, "id", "")
        if node.func.attr == "which" and owner == "shutil":
            found.append(f"{path.name}:{node.lineno} calls shutil.which")
        elif owner == "subprocess" and node.func.attr in CALLS and node.args:
            words = node.args[0]
            first = words.elts[0] if isinstance(words, ast.List) and words.elts else words
            name = first.value if isinstance(first, ast.Constant) else ""
            if name and name not in ALWAYS_HERE and not str(name).startswith("/"):
                found.append(f"{path.name}:{node.lineno} calls {name}")
    return found


def test_tests_find_programs_in_one_way_only():
    """Else a machine with half a program, such as Docker without Compose, fails the suite."""
    # The one way itself, and the scripts' tests, which make a PATH of the usual tools.
    exempt = {"external_programs.py", "test_scripts.py", *BEHIND_THE_ENGINE}
    files = [path for path in TESTS.rglob("*.py") if path.name not in exempt]
    assert [line for path in sorted(files) for line in found_in_another_way(path)] == []
