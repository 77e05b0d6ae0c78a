"""How a simulated test fails."""

from __future__ import annotations


class SimulationTimeoutError(AssertionError):
    """Something did not happen within its simulated time; the test failed."""
