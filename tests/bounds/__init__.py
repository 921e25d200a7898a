"""What the papers prove; each family has a module, and they are all registered when the package is imported."""

from tests.bounds import guarantees, sparse

__all__ = ["guarantees", "sparse"]
