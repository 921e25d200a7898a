"""Snapshots of models: names, stores and retention."""
