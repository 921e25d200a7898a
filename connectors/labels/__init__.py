"""Labels that come later than their records: what waits, how the two are joined, and in which order they are taken.

Nothing here reads files or topics, and nothing is random: the same records and labels in the same order have the same
result.
"""
