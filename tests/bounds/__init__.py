"""What the papers prove; each family has a module, and they are all registered when the package is imported."""

from tests.bounds import coin_betting, gaussian, guarantees, sparse, tasks

__all__ = ["coin_betting", "gaussian", "guarantees", "sparse", "tasks"]
