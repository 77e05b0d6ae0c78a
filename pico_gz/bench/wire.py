"""The ArduPilot JSON wire against bare sockets that move the same bytes."""

from __future__ import annotations

from pico_gz.bench.figure import Figure
from pico_gz.testing.bench_fdm import ExchangeCost, client_cost, server_cost


def figures() -> list[Figure]:
    """Both ends, one vehicle and ten, as ratios."""
    return [
        _figure(
            "fdm_client_1", "FDM exchange, client, 1 vehicle, over bare sockets", client_cost(1)
        ),
        _figure("fdm_client_10", "the same with 10 vehicles", client_cost(10, 500)),
        _figure(
            "fdm_server_1", "FDM exchange, server, 1 vehicle, over bare sockets", server_cost(1)
        ),
        _figure("fdm_server_10", "the same with 10 vehicles", server_cost(10, 500)),
    ]


def _figure(name: str, what: str, cost: ExchangeCost) -> Figure:
    return Figure(
        name=name,
        what=what,
        value=cost.ratio,
        unit="x (ratio)",
        goal=2.0,
        detail={"kit_us": cost.kit_us, "bare_us": cost.bare_us},
    )
