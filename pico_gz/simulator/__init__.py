"""The built-in world: rover dynamics, terrain, contacts, sensors and faults."""
