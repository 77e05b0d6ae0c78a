"""The built-in rover autopilot."""
