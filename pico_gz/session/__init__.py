"""From a fleet to a run: everything is put together here."""
