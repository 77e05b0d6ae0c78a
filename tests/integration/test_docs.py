"""The documentation is true: what needs only pip packages is run, the rest says what it needs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# Pages without commands to run, or whose commands other tests run.
LINKING_PAGES = [
    *PAGES,
    ROOT / "SECURITY.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "examples").rglob("README.md")),
]
FENCE = re.compile(r"^(?P<before>[^\n]*)\n+```(?P<kind>\w*)\n(?P<code>.*?)^```", re.M | re.S)
# What a page may show without it being a program: data, output, an excerpt of a file.
NOT_RUN = {"toml", "json", "", "text", "ini"}


def fences(kind: str) -> list:
    found = []
    for page in PAGES:
        for match in FENCE.finditer(page.read_text()):
            # The scripts are tested by test_scripts.py, on a copy of the repository.
            left_out = match["before"].startswith("Needs:") or "./scripts/" in match["code"]
            if match["kind"] == kind and not left_out:
                line = page.read_text()[: match.start("code")].count("\n")
                found.append(pytest.param(page, match["code"], id=f"{page.name}:{line}"))
    return found


@pytest.mark.parametrize(("page", "code"), fences("bash"))
def test_commands_work(page, code, tmp_path):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PICO_GZ_ADAPTER": "lightweight"}
    done = subprocess.run(
        ["bash", "-e", "-c", with_free_ports(code)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def with_free_ports(code: str) -> str:
    """The same commands beside other runs on this machine."""
    return re.sub(r"(pico-gz (?:run|ports)\b[^#\n]*)", r"\1 --port-offset auto ", code)


def pages_with_python() -> list:
    pages: dict[Path, str] = {}
    for parameter in fences("python"):
        page, code = parameter.values
        pages[page] = pages.get(page, "") + code + "\n"
    return [pytest.param(code, id=page.name) for page, code in pages.items()]


@pytest.mark.parametrize("code", pages_with_python())
def test_python_examples_work(code, tmp_path):
    """The snippets of one page are one program, and tests in it are run as tests."""
    program = tmp_path / "test_example.py"
    program.write_text(code)
    runner = ["-m", "pytest", "-q"] if "\ndef test_" in code else []
    done = subprocess.run(
        [sys.executable, *runner, str(program)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_fence_is_of_a_kind_that_is_checked():
    for page in PAGES:
        kinds = {match["kind"] for match in FENCE.finditer(page.read_text())}
        assert kinds <= NOT_RUN | {"bash", "python"}, f"{page.name}: {kinds}"


def test_links_lead_somewhere():
    for page in LINKING_PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_opens_with_the_two_commands():
    first = next(FENCE.finditer((ROOT / "README.md").read_text()))
    commands = [line.split("#")[0].strip() for line in first["code"].splitlines()]
    assert commands == ["./scripts/run", "./scripts/test"]
