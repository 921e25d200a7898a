"""What the papers prove; each family has a module, and they are all registered when the package is imported."""

from tests.bounds import gaussian, guarantees, sparse, tasks

__all__ = ["gaussian", "guarantees", "sparse", "tasks"]
