"""The bridge: adapters, vehicles and one clock, stepping together."""
