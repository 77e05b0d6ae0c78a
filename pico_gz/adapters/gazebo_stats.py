"""Counters of one vehicle's wire."""

from __future__ import annotations

import msgspec


class WireStats(msgspec.Struct, gc=False):
    """What happened on one vehicle's wire since it was opened.

    Attributes:
        sent: first transmissions of a frame.
        retries: repeated transmissions.
        accepted: records that moved time.
        empty: replies without a record; the simulator has no IMU sample yet.
        duplicate: records of a time that was known already.
        old: records older than the newest one.
        broken: datagrams that could not be read.
        foreign: datagrams of a sender or vehicle that does not belong here; in the plugin's
            dialect the system drops those of other senders unseen.
        gaps: times at which simulation time jumped.
        restarts: times at which the simulator started over.
        nudges: frames sent ahead to free a world that waited for this vehicle.
        stalls: times at which the simulator kept this vehicle waiting.
    """

    sent: int = 0
    retries: int = 0
    accepted: int = 0
    empty: int = 0
    duplicate: int = 0
    old: int = 0
    broken: int = 0
    foreign: int = 0
    gaps: int = 0
    restarts: int = 0
    nudges: int = 0
    stalls: int = 0
