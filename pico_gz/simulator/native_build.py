"""Builds and finds the compiled core of the simulator.

The file's name holds a hash of the C source and its generated header, so that a core made from
other sources is never loaded. Without a C compiler, or with ``PICO_GZ_PURE=1``, the Python model
runs alone: slower, with the same bits.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from pico_gz.core.compiled_modules import PURE_VARIABLE, is_switched_off
from pico_gz.simulator.native_layout import LAYOUT_SIZE, OUT, WORLD, header

log = logging.getLogger(__name__)

HERE = Path(__file__).parent / "native"
SOURCE = HERE / "core.c"
COMPILERS = ("cc", "gcc", "clang")
# Contraction would fuse a * b + c where the CPU can, and give other bits than elsewhere.
FLAGS = ("-std=c11", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-fvisibility=hidden")


@cache
def source_hash() -> str:
    """What the sources of the core are, in 16 digits."""
    return hashlib.sha256(SOURCE.read_bytes() + header().encode()).hexdigest()[:16]


def library_path() -> Path:
    """Where the core of these sources is, or would be."""
    return HERE / f"_core-{source_hash()}.so"


def compiler() -> str | None:
    """The C compiler of this machine: ``CC``, or the first one found."""
    names = (os.environ["CC"],) if os.environ.get("CC") else COMPILERS
    return next((found for name in names if (found := shutil.which(name))), None)


def build(flags: tuple[str, ...] = FLAGS, to: Path | None = None) -> Path:
    """Compile the core.

    Raises:
        OSError: there is no compiler, it failed, or the file cannot be written.
    """
    command = compiler()
    if command is None:
        raise OSError("no C compiler (cc, gcc or clang)")
    target = to or library_path()
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        (Path(folder) / "layout.h").write_text(header())
        made = Path(folder) / target.name
        done = subprocess.run(
            [command, *flags, "-I", folder, str(SOURCE), "-o", str(made), "-lm"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            raise OSError(f"{command} failed: {(done.stderr.strip() or 'no message')[-300:]}")
        made.replace(target)  # at once, so that another process never loads half a file
    return target


@cache
def load() -> ctypes.CDLL | None:
    """The compiled core, or ``None`` when it is switched off, missing, stale or unfit."""
    if is_switched_off():
        return None
    library = _open()
    if library is None and any(HERE.glob("_core-*")):
        log.warning("The native core of the simulator is stale or unfit; the Python model runs.")
    return library


def _open() -> ctypes.CDLL | None:
    """The core of these sources, unless it is missing or made for another machine."""
    with contextlib.suppress(OSError):
        library = ctypes.CDLL(str(library_path()))
        if _fits(library):
            return library
    return None


def _fits(library: ctypes.CDLL) -> bool:
    sizes = library.pico_gz_sizes
    sizes.restype, sizes.argtypes = ctypes.c_int64, [ctypes.c_int64]
    if (sizes(1), sizes(2), sizes(3)) != (WORLD.whole.size, LAYOUT_SIZE, OUT.whole.size):
        return False
    library.pico_gz_step.restype = ctypes.c_int64
    library.pico_gz_sense.restype = None
    library.pico_gz_follow.restype = None
    for function in (library.pico_gz_step, library.pico_gz_sense, library.pico_gz_follow):
        function.argtypes = [ctypes.c_void_p]
    library.pico_gz_trace.restype = ctypes.c_int64
    library.pico_gz_trace.argtypes = [
        ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64, ctypes.c_char_p, ctypes.c_void_p
    ]  # fmt: skip
    return True


def describe() -> str:
    """Which model runs, in one word and why: ``native``, or ``pure (reason)``."""
    if load() is not None:
        return "native"
    if is_switched_off():
        return f"pure ({PURE_VARIABLE} is set)"
    if library_path().exists():
        return "pure (the compiled core does not fit this machine)"
    stale = any(HERE.glob("_core-*.so"))
    return f"pure (the compiled core is {'stale' if stale else 'not built'})"


def main() -> int:
    """Build the core unless one that fits is there; a failure is one line and no error."""
    if _open() is not None:
        return 0
    try:
        build()
    except (OSError, subprocess.SubprocessError) as error:
        line = " ".join(str(error).split())
        sys.stderr.write(f"The native core was not built ({line}); the Python model runs.\n")
        return 0
    for old in HERE.glob("_core-*.so"):
        if old != library_path():
            old.unlink(missing_ok=True)
    sys.stderr.write("Built the native core of the simulator.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
