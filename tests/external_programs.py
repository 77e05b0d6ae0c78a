"""The one way by which tests find programs of this machine.

A name on the PATH proves nothing: a Docker client may lack Compose, a program may be broken, be
another one of that name, or hang. So a program counts as found only after it has answered a
harmless question within a time limit; otherwise the test is skipped with the reason.
"""

import functools
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pico_gz.gazebo.install import find_gazebo

ANSWER_S = 20.0
# Programs of pip packages are beside the interpreter, whose folder need not be on the PATH.
BESIDE_PYTHON = str(Path(sys.executable).parent)

DOCKER_ENGINE = ("docker", "version", "--format", "{{.Server.Version}}")
COMPOSE = ("docker", "compose", "version")
COMPOSE_ANSWER = r"\bv?[2-9]\."  # version 1 was another program
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def path_of(name):
    """Where a program is, beside our Python or on the PATH; None if it is not there."""
    return shutil.which(name, path=os.pathsep.join([BESIDE_PYTHON, os.environ.get("PATH", "")]))


def problem_of(name, *question, answer="", codes=(0,), environ=None, limit_s=ANSWER_S):
    """Why a program cannot be used, or an empty text.

    Args:
        name: the program, by name or path.
        question: its arguments for a call that is quick and changes nothing.
        answer: a regular expression that what it prints must match.
        codes: the exit codes of a program that works.
        environ: variables to set for the call.
        limit_s: when a program without an answer counts as hanging [s].
    """
    path = path_of(name)
    if path is None:
        return f"there is no {name} here"
    words = " ".join((name, *question))
    try:
        process = subprocess.Popen(
            [path, *question],
            env={**os.environ, **(environ or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # so that its children end with it
        )
    except OSError as exc:
        return f"'{words}' does not start: {exc.strerror}"
    with process:
        try:
            text, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return f"'{words}' gives no answer within {limit_s:g} s"
    if process.returncode not in codes:
        said = next(iter(text.strip().splitlines()), "no message")
        return f"'{words}' ends with code {process.returncode}: {said[:200]}"
    if not re.search(answer, text, re.M):
        return f"'{words}' gives an answer of another program: {text.strip()[:80]!r}"
    return ""


_asked_once = functools.cache(problem_of)


def need_program(name, *question, answer="", codes=(0,)):
    """The path of a program that works; without one the test is skipped with the reason."""
    problem = _asked_once(name, *question, answer=answer, codes=codes)
    if problem:
        pytest.skip(f"not checked: {problem}")
    return path_of(name)


def need_compose():
    """The path of a Docker client that has Compose; else the test is skipped."""
    return need_program(*COMPOSE, answer=COMPOSE_ANSWER)


def need_arm64():
    """A compiler for arm64 with its C library, and an emulator; else the test is skipped."""
    need_program("aarch64-linux-gnu-gcc", "-print-file-name=libc.a", answer=r"/libc\.a$")
    need_program("qemu-aarch64", "--version", answer="qemu-aarch64")


def need_ardurover():
    """The path of an ArduRover that starts; else the test is skipped."""
    name = (os.environ.get("PICO_GZ_ARDUROVER") or "ardurover").split(os.pathsep)[0]
    # Versions differ in the exit code after their help.
    problem = _asked_once(name, "--help", answer="--model", codes=(0, 1))
    if problem:
        pytest.skip(f"no ArduRover (PICO_GZ_ARDUROVER or on the PATH): {problem}")
    return path_of(name)


def need_chromium():
    """The path of a Chromium that starts; else the test is skipped."""
    named = os.environ.get("PICO_GZ_CHROMIUM")
    names = [named] if named else [name for name in CHROMIUM_NAMES if path_of(name)]
    problems = [_asked_once(name, "--version") for name in names]
    for name, problem in zip(names, problems, strict=True):
        if not problem:
            return path_of(name)
    reason = "; ".join(problems) or "none is here"
    pytest.skip(f"no Chromium (PICO_GZ_CHROMIUM or on the PATH): {reason}")


def need_gazebo():
    """Gazebo with the ArduPilot plugin, as the kit finds it; else the test is skipped."""
    install = find_gazebo()
    problem = install.problem or _asked_once(str(install.program), "sim", "--versions")
    if problem:
        pytest.skip(f"no Gazebo: {problem}")
    return install
