"""How fast this machine runs Python, so that figures of two machines can be compared."""

from __future__ import annotations

from pico_gz.bench.figure import best_us


def bare_loop_us() -> float:
    """Microseconds of one turn of a bare loop with a few float operations."""
    turns = 200_000

    def work() -> float:
        x, v = 0.0, 1.0
        for _ in range(turns):
            x += v * 0.01
            v = v * 0.999 + 0.001
        return x

    return best_us(work, turns)
