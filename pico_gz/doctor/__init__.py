"""Looks at this machine: what the kit can use here, what is missing and how to get it."""
