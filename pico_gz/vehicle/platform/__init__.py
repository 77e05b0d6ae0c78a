"""The simulated board of a vehicle and its peripherals.

``platform.SitlPlatform`` is what an autopilot runs on: sensors in, PWM out, serial ports and a
timer in simulation time.
"""
