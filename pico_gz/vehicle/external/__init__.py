"""External autopilots on the FDM wire: server, records, processes.

``fdm_server.FdmServer`` answers each autopilot's frames with ``records`` of its vehicle;
``connection`` judges what arrives; ``program`` starts and ends the processes.
"""
