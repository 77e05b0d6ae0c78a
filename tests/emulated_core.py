"""The core compiled for arm64, under an emulator, beside the core of this machine.

Every call of the core is made twice, from the same memory: here, and by ``emulated_core.c`` in a
process of ``qemu-aarch64``. The memory of all vehicles must be the same afterwards, byte for byte,
with what the core keeps for itself. What runs on the core then runs on both.

As a plugin of pytest this holds for all tests of a run::

    pytest -p tests.emulated_core tests/scenarios/test_oracle.py -k test_digest
"""

import contextlib
import ctypes
import os
import struct
import subprocess
import tempfile
from pathlib import Path
from unittest import mock

from pico_gz.simulator import native_build as build
from pico_gz.simulator.native_layout import WORLD
from pico_gz.simulator.random import normal_arrays

COMPILER = "aarch64-linux-gnu-gcc"
EMULATOR = "qemu-aarch64"
DRIVER = Path(__file__).with_suffix(".c")
FUSED = "-ffp-contract=fast"  # what must be noticed
_FUNCTIONS = ("pico_gz_step", "pico_gz_sense", "pico_gz_follow")
_SENSE = 1  # the second half of a step that had to pause
_NUMBER = struct.Struct("=q")


class BitsDifferError(AssertionError):
    """A call gave other bytes under the emulator."""


class PairedCore:
    """Stands for the core; each call runs here and under the emulator.

    Attributes:
        calls: how many were compared.
        vehicle_steps: the steps among them, times their vehicles.
    """

    def __init__(self, core, process):
        self.calls = self.vehicle_steps = 0
        self.pico_gz_sizes = core.pico_gz_sizes
        self.pico_gz_trace = core.pico_gz_trace  # no arithmetic
        for number, name in enumerate(_FUNCTIONS):
            setattr(self, name, self._pair(number, getattr(core, name)))
        self._to, self._from = process.stdin, process.stdout
        sizes = [self._take_number() for _ in range(4)]
        if sizes != [core.pico_gz_sizes(which) for which in range(4)]:
            raise BitsDifferError(f"the structures have other sizes there: {sizes}")
        for numbers in normal_arrays():
            self._give_block(numbers.tobytes())

    def _pair(self, number, function):
        def call(at):
            world = ctypes.string_at(at.value, WORLD.whole.size)
            count, rovers = _field(world, "count"), _field(world, "rovers")
            memory = (ctypes.c_char * (count * self.pico_gz_sizes(0))).from_address(rovers)
            outs = (ctypes.c_char * (count * self.pico_gz_sizes(3))).from_address(
                _field(world, "outs")
            )
            self._ask(number, world, memory.raw, outs.raw)
            result = function(at)
            self._compare(result or 0, _field(world, "candidates"), memory.raw, outs.raw)
            self.calls += 1
            self.vehicle_steps += count if number != _SENSE else 0
            return result

        return call

    def _ask(self, number, world, memory, outs):
        self._to.write(_NUMBER.pack(number) + world)
        heights = _field(world, "rows") * _field(world, "columns")
        for name, count in (("heights", heights), ("outlines", 7 * _field(world, "outline_count"))):
            at = _field(world, name)
            self._give_block(ctypes.string_at(at, 8 * count) if count else b"")
        self._give_block(memory)
        self._give_block(outs)
        self._to.flush()

    def _compare(self, result, candidates, memory, outs):
        there = self._take_number()
        found = self._take(16 * max(0, there))
        after, outs_after = self._take(len(memory)), self._take(len(outs))
        if there != result or found != ctypes.string_at(candidates, len(found)):
            raise BitsDifferError(f"{result} candidates, {there} there, or others")
        if after != memory:
            places = [at for at in range(0, len(memory), 8) if after[at:][:8] != memory[at:][:8]]
            size = self.pico_gz_sizes(0)
            where = ", ".join(f"vehicle {at // size} byte {at % size}" for at in places[:3])
            raise BitsDifferError(f"call {self.calls}: {len(places)} numbers differ ({where})")
        if outs_after != outs:
            raise BitsDifferError(f"call {self.calls}: samples differ")

    def _give_block(self, data):
        self._to.write(_NUMBER.pack(len(data)) + data)

    def _take(self, size):
        data = self._from.read(size)
        if len(data) != size:
            raise RuntimeError("the emulated core has ended")
        return data

    def _take_number(self):
        return _NUMBER.unpack(self._take(8))[0]


def _field(world, name):
    return _NUMBER.unpack_from(world, WORLD.offset_of(name))[0]


@contextlib.contextmanager
def emulated_core(*flags):
    """Run everything on both cores; ``flags`` are added to those of the compiler for arm64."""
    core = build.load()
    assert core is not None, build.describe()
    usual = [flag for flag in build.FLAGS if flag not in ("-fPIC", "-shared")]
    with tempfile.TemporaryDirectory(prefix="pico_gz_core_") as folder:
        with mock.patch.dict(os.environ, CC=COMPILER):
            program = build.build((*usual, *flags, "-static", str(DRIVER)), Path(folder) / "core")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen([EMULATOR, str(program)], **pipes) as process:
            try:
                paired = PairedCore(core, process)
                with mock.patch.object(build, "load", return_value=paired):
                    yield paired
            finally:
                process.kill()


def pytest_configure(config):
    """As a plugin: for the whole run."""
    stack = contextlib.ExitStack()
    config.add_cleanup(stack.close)
    config.paired_core = stack.enter_context(emulated_core())


def pytest_terminal_summary(terminalreporter, config):
    """Say how much was compared."""
    core = config.paired_core
    terminalreporter.write_line(
        f"Equal under {EMULATOR}: {core.calls} calls, {core.vehicle_steps} vehicle-steps."
    )
