"""From a fleet file to a run: configuration, composition, recording."""
