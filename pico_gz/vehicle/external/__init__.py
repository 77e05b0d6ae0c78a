"""External autopilots on the FDM wire: server, records, processes."""
