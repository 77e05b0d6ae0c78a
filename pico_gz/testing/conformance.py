"""The checklist of the wire against a live peer: a simulator, or an autopilot.

What a live peer cannot show (its inner state, several vehicles) is not in the list; what this
one cannot show is reported as skipped, with the reason.
"""

from __future__ import annotations

from pico_gz.testing.conformance_autopilot import check_autopilot
from pico_gz.testing.conformance_result import CheckResult, Outcome
from pico_gz.testing.conformance_simulator import check_simulator

__all__ = ["CheckResult", "Outcome", "check_autopilot", "check_simulator"]
