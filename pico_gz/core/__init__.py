"""What every room uses: messages, units, frames, the rover description, ports.

Nothing here imports another room. ``messages`` crosses the bridge, ``rover_spec`` describes a
rover for fleet file, simulator and worlds, ``ground_control`` is what a ground station can ask of
an autopilot, ``portable_math`` gives the same bits on every machine.
"""
