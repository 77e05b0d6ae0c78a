"""What all tests share: how long an endurance test lasts."""

import logging
import os
from collections.abc import Callable

import pytest

log = logging.getLogger(__name__)

# Set by ./scripts/soak: how long an endurance test may last [s].
SOAK_VARIABLE = "PICO_GZ_SOAK_S"


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
    """Lift the time limits of a soak, whatever a test says: hours are meant."""
    if os.environ.get(SOAK_VARIABLE):
        for item in items:
            item.add_marker(pytest.mark.timeout(0), append=False)
