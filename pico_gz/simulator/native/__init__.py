"""The native core: C for fleets, with the bits of the Python model."""
