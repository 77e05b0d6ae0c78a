"""Bytes to values and back, and the datagrams that carry them."""
