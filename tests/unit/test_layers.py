"""The layers are one-directional, and what must stay light is light."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2] / "pico_gz"

# Each layer may import itself and the layers before it (the order of the data path).
LAYERS = [
    {
        "errors",
        "units",
        "exact",
        "frames",
        "local_frame",
        "state",
        "resources",
        "gazebo_install",
        "gz_bindings",
        "calm_log",
    },
    {"messages"},
    {"ports", "port_plan", "port_owner"},
    {"rover", "board_options", "codecs", "simulator"},
    {"transports"},
    {"adapters", "vehicle", "autopilot", "fdm", "mavlink"},
    {"bridge"},
    {"config", "worldgen", "launch", "lint"},
    {"session", "recording"},
    {"containers"},
    {"testing"},
    {"bench", "comparison", "doctor"},
    {"cli", "dashboard", "pytest_plugin", "__main__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# ops.py holds the element-wise operations only; exact.py and frames.py are written against it.
ALLOWED_UP = {
    ("exact", "simulator.ops"),
    ("frames", "simulator.ops"),
    ("local_frame", "simulator.ops"),
}
# Neighbours in one layer that must not know each other all the same.
STRANGERS = {
    "autopilot": {"mavlink", "adapters", "fdm", "simulator.engine"},
    "adapters": {"vehicle", "autopilot", "mavlink"},
    "vehicle": {"autopilot", "mavlink", "adapters"},
}


def imports_of(path: Path) -> set[str]:
    """Modules of this package that a file imports at run time, without the package name."""
    tree = ast.parse(path.read_text())
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pico_gz."):
            found.add(node.module.removeprefix("pico_gz."))
        elif isinstance(node, ast.Import):
            found |= {
                a.name.removeprefix("pico_gz.") for a in node.names if a.name.startswith("pico_gz.")
            }
    return found


def broken_rules(path: Path) -> list[str]:
    """What a file imports and must not."""
    relative = path.relative_to(ROOT)
    package = relative.parts[0].removesuffix(".py")
    if package not in RANK:
        return [f"{relative}: {package} has no layer: add it to LAYERS"]
    found = []
    for module in imports_of(path):
        target = module.split(".")[0]
        up = (package, module) not in ALLOWED_UP and RANK[target] > RANK[package]
        strange = any(f"{module}.".startswith(f"{s}.") for s in STRANGERS.get(package, ()))
        if up or strange:
            found.append(f"{relative} imports {module}")
    return found


def test_imports_go_down_only():
    files = [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]
    assert len(files) > 100
    assert [rule for path in files for rule in broken_rules(path)] == []


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
