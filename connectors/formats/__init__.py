"""Formats of the values in topics: what turns bytes into fields, and fields into bytes."""
