"""The rooms import one way only, and what must stay light is light."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2] / "pico_gz"

# In the order of the data: each room may import itself and the rooms before it.
ROOMS = [
    "core",
    "simulator",
    "wire",
    "adapters",
    "bridge",
    "vehicle",
    "mavlink",
    "gazebo",
    "run",
    "view",
    "testing",
    "cli",
]
TOP_LEVEL = {"__init__.py", "__main__.py", "errors.py", "pytest_plugin.py"}
# What the built-in autopilot must not know: it sees its platform and nothing else.
HIDDEN_FROM_AUTOPILOT = ("simulator", "wire", "adapters", "bridge", "vehicle.external")


def imports_of(path: Path) -> set[str]:
    """Modules of this package that a file imports, for types and lazily too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pico_gz."):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "pico_gz":
            found |= {f"pico_gz.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("pico_gz.")}
    return {name.removeprefix("pico_gz.") for name in found}


def room_modules() -> list[Path]:
    return [path for path in sorted(ROOT.rglob("*.py")) if path.parent != ROOT]


def test_rooms_import_only_rooms_before_them():
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in room_modules()
        for module in imports_of(path)
        if module.split(".")[0] in ROOMS
        and ROOMS.index(module.split(".")[0]) > ROOMS.index(path.relative_to(ROOT).parts[0])
    ]
    assert wrong == []


def test_there_are_twelve_rooms_and_four_top_level_modules():
    rooms = {path.name for path in ROOT.iterdir() if any(path.glob("*.py"))}
    assert rooms == set(ROOMS)
    assert {path.name for path in ROOT.glob("*.py")} == TOP_LEVEL


def test_no_two_packages_import_each_other():
    edges = {
        (".".join(path.relative_to(ROOT).parent.parts), _package_of(module))
        for path in room_modules()
        for module in imports_of(path)
    }
    assert [(here, other) for here, other in edges if here < other and (other, here) in edges] == []


def _package_of(module: str) -> str:
    parts = module.split(".")
    while parts and not (ROOT.joinpath(*parts) / "__init__.py").is_file():
        parts.pop()
    return ".".join(parts)


def test_the_autopilot_sees_only_its_platform():
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sorted((ROOT / "vehicle" / "autopilot").rglob("*.py"))
        for module in imports_of(path)
        if module.startswith(HIDDEN_FROM_AUTOPILOT)
    ]
    assert wrong == []


def test_import_is_quick_and_light():
    code = (
        "import sys, pico_gz\n"
        "heavy = {'numpy', 'pydantic', 'typer', 'rich', 'pymavlink', 'docker', 'jinja2'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_public_names_exist():
    import pico_gz

    for name in pico_gz.__all__:
        assert getattr(pico_gz, name) is not None
