"""Snapshots of models: their names, the stores that hold them, how long they are kept."""
