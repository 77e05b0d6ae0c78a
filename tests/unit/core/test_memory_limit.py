"""A run under ``ulimit -v`` ends while there is memory left to end with."""

import resource
import subprocess
import sys

import pytest

from pico_gz.core import memory_limit

MB = 1 << 20


def in_a_process(code, megabytes):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * MB, megabytes * MB))

    return subprocess.run(
        [sys.executable, "-c", code], preexec_fn=limit, capture_output=True, text=True, timeout=60
    )


def test_without_a_limit_there_is_nothing_to_check():
    assert memory_limit.address_space_limit() is None
    memory_limit.require_memory()


@pytest.mark.parametrize(("left_mb", "raises"), [(100, False), (33, False), (31, True), (0, True)])
def test_less_than_the_reserve_raises_with_both_figures(monkeypatch, left_mb, raises):
    monkeypatch.setattr(memory_limit, "address_space_limit", lambda: 500 * MB)
    monkeypatch.setattr(memory_limit, "_used_bytes", lambda: (500 - left_mb) * MB)
    if not raises:
        memory_limit.require_memory()
        return
    with pytest.raises(MemoryError, match=f"^{left_mb} MB are left of the limit of 500 MB.$"):
        memory_limit.require_memory()


def test_the_limit_of_a_process_is_found_and_its_use_counted():
    code = (
        "from pico_gz.core.memory_limit import *\n"
        "print(address_space_limit() >> 20)\n"
        "require_memory()\n"
        "held = bytearray(165 << 20)\n"
        "try: require_memory()\n"
        "except MemoryError as error: print(error)\n"
    )
    done = in_a_process(code, 200)
    lines = done.stdout.splitlines()
    assert lines[0] == "200", done.stderr
    assert lines[1].endswith(" MB are left of the limit of 200 MB.")


def test_threads_share_one_heap_under_a_limit():
    """Each thread's own heap would reserve 64 MB of addresses: ten would not fit into 500 MB."""
    code = (
        "import threading\n"
        "from pico_gz.core import memory_limit\n"
        "memory_limit.share_one_heap()\n"
        "before = memory_limit._used_bytes()\n"
        "gate = threading.Barrier(11)\n"
        "def hold():\n"
        "    held = bytearray(4000)\n"
        "    gate.wait(); gate.wait()\n"
        "threads = [threading.Thread(target=hold) for _ in range(10)]\n"
        "[t.start() for t in threads]\n"
        "gate.wait()\n"
        "print((memory_limit._used_bytes() - before) >> 20)\n"
        "gate.wait()\n"
    )
    done = in_a_process(code, 500)
    assert int(done.stdout) < 100, done.stderr  # ten stacks of 8 MB
