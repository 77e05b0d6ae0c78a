#!/usr/bin/env python3
"""Compile the modules of ``pico_gz/core/compiled_modules.py`` with mypyc, for this clone.

Needs mypy, setuptools, the headers of Python and a C compiler; ``./scripts/build`` gets the first
two. Without the others the modules run interpreted.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
os.environ["PICO_GZ_PURE"] = "1"  # the compiler imports what it compiles

from pico_gz.core import compiled_modules as compiled  # noqa: E402
from pico_gz.simulator.native_build import compiler  # noqa: E402

# No contraction: the bits must be those of the interpreter.
FLAGS = "-ffp-contract=off -fno-fast-math -g0"


def main() -> int:
    """Build into a folder beside, then move it to its place at once."""
    target = compiled.folder()
    if compiled.is_built():
        return 0
    if missing := what_is_missing():
        sys.stderr.write(f"The modules were not compiled ({missing}); they run interpreted.\n")
        return 0
    sys.stderr.write(f"Compiling {len(compiled.SOURCES)} modules (a minute) ...\n")
    started_s = time.monotonic()
    os.chdir(ROOT)
    compiled.FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=compiled.FOLDER, prefix=".") as folder:
        if not build(Path(folder)):
            sys.stderr.write("The C compiler failed (see above); the modules run interpreted.\n")
            return 1
        for old in compiled.FOLDER.iterdir():
            if not old.name.startswith("."):
                shutil.rmtree(old)
        (Path(folder) / "lib").rename(target)
    sys.stderr.write(f"Compiled them in {time.monotonic() - started_s:.0f} s.\n")
    return 0


def what_is_missing() -> str:
    """What this machine would need to compile; empty when it can."""
    if compiler() is None:
        return "no C compiler: cc, gcc or clang"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "no headers of Python: python3-dev on Debian and Ubuntu"
    return ""


def build(folder: Path) -> bool:
    """Make the libraries in ``folder/lib``; False when the C compiler or linker refuses."""
    from mypyc.build import mypycify
    from setuptools import Distribution
    from setuptools.errors import CompileError, LinkError

    os.environ["CFLAGS"] = f"{os.environ.get('CFLAGS', '')} {FLAGS}".strip()
    extensions = mypycify(
        ["--config-file=pyproject.toml", *compiled.SOURCES],
        opt_level="3",
        debug_level="0",
        group_name=compiled.LIBRARY.removesuffix("__mypyc"),
        target_dir=str(folder / "c"),
    )
    distribution = Distribution({"name": "pico-gz-compiled", "ext_modules": extensions})
    command = distribution.get_command_obj("build_ext")
    command.build_lib = str(folder / "lib")
    command.build_temp = str(folder / "temp")
    command.ensure_finalized()
    try:
        command.run()
    except (CompileError, LinkError):  # it has printed why
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
