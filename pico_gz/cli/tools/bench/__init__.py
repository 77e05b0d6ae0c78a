"""The figures the kit promises, measured on this machine."""
