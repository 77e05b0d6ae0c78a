"""The built-in rover autopilot; ``rover.RoverAutopilot`` is what runs on a ``SitlPlatform``.

It sees its platform and nothing else: no simulator, no bridge, no other vehicle. The way from
sensors to servos, in the order of one main loop::

    estimator     tilt, heading, position, wheels, altitude: what the sensors mean
    rc_input      the pilot's sticks, pilot_switches what else a transmitter can do
    failsafe      with fence and battery: what to do when something goes wrong
    modes         who drives; mode_switch changes it, mission_runner feeds AUTO
    navigation    with circling and station: where to steer, how fast
    controllers   speed and turn rate to throttle and steering
    outputs       with mixing: throttle and steering to pulses

``api`` is what a ground link may ask, ``ground`` and ``telemetry`` answer it. Nothing here calls
the C library's trigonometry (see ``angles``), so equal inputs give equal bits everywhere.
"""
