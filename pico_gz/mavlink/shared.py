"""What all endpoints of a fleet have in common."""

from __future__ import annotations

from dataclasses import dataclass, field

from pico_gz.mavlink import limits
from pico_gz.mavlink.commands import Inject
from pico_gz.mavlink.counters import MavlinkCounters
from pico_gz.mavlink.identity import Identity
from pico_gz.mavlink.limits import TokenBucket
from pico_gz.mavlink.schedule import Schedule
from pico_gz.mavlink.signing import Signer


@dataclass(slots=True)
class FleetShared:
    """Handed to every endpoint.

    Attributes:
        schedule: where to wait for a time.
        counters: where to count.
        identity: what the vehicles claim to be.
        signer: signs and checks, when there is a key.
        inject: switches a failure on (vehicle id, unit, kind).
        param_budget: how many parameters all vehicles together may send.
    """

    schedule: Schedule
    counters: MavlinkCounters
    identity: Identity = field(default_factory=Identity)
    signer: Signer | None = None
    inject: Inject | None = None
    param_budget: TokenBucket = field(
        default_factory=lambda: TokenBucket(limits.PARAMS_PER_S_FLEET, limits.PARAMS_PER_S_FLEET)
    )
