"""The bridge: adapters, vehicles and one clock, stepping together.

Start at ``bridge.SitlBridge``. ``fleet_stepper`` is one step, ``run_loop`` repeats it at a pace,
``stall`` says what happens when a simulator or an autopilot does not answer, ``published`` is what
observers get.
"""
