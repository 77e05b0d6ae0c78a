"""What all tests share: how long an endurance test lasts, and which a busy machine may disturb."""

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

log = logging.getLogger(__name__)

HERE = Path(__file__).parent

# Set by ./scripts/soak: how long an endurance test may last [s].
SOAK_VARIABLE = "PICO_GZ_SOAK_S"
# Sockets, processes and threads are the matter of these.
LIVE_FOLDERS = frozenset({"integration", "conformance"})


@pytest.fixture
def endurance() -> Callable[[float, float], float]:
    """Gives the length of a load [s]: the usual one, or under ./scripts/soak up to ``longest_s``.

    Both are those of the load goals: seconds in ``--all``, up to hours by hand.
    """

    def length_s(usual_s: float, longest_s: float) -> float:
        soak_s = os.environ.get(SOAK_VARIABLE)
        lasts_s = min(float(soak_s), longest_s) if soak_s else usual_s
        log.info("lasts %g s", lasts_s)
        return lasts_s

    return length_s


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that live with other programs, and those that a soak lengthens."""
    for item in items:
        if item.path.relative_to(HERE).parts[0] in LIVE_FOLDERS:
            item.add_marker(pytest.mark.live)
        if os.environ.get(SOAK_VARIABLE):
            # Nobody knows how long hours take: a soak has no time limit, whatever a test says.
            item.add_marker(pytest.mark.timeout(0), append=False)
