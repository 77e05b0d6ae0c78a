"""One rover drives a line of 5 m in the Lightweight simulator.

Needs pico-gz and nothing else:

    python one_rover.py
"""

from pico_gz import LightweightAdapter, SitlBridge, VehicleConfig
from pico_gz.vehicle.scripted import make_script

SIMULATED_US = 20_000_000  # time is in microseconds everywhere


def main() -> None:
    bridge = SitlBridge()  # lockstep, 10 ms steps, as fast as the machine can
    bridge.register_adapter(LightweightAdapter(seed=1))
    bridge.spawn_vehicle(VehicleConfig(id=1, preset="pico_trail_freenove"), make_script("line:5"))
    try:
        bridge.run(SIMULATED_US, until=lambda view: bridge.get_vehicle(1).status().done)
        truth = bridge.view.truth[1]
        print(f"Drove {truth.north_m:.2f} m north in {bridge.view.time_us / 1e6:.1f} s.")
        print(
            f"The simulation ran {bridge.stats.real_time_factor:.0f} times faster than real time."
        )
    finally:
        bridge.close()


if __name__ == "__main__":
    main()
