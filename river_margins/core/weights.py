"""The weights of a learner as a mapping."""

from collections.abc import Mapping


class Weights(Mapping):
    """One weight vector: a read-only mapping from learned features to their present weights."""

    __slots__ = ("_block", "_space")

    def __init__(self, space, block):
        self._space = space
        self._block = block

    def __getitem__(self, feature):
        return self._space.weight(feature, self._block)

    def __iter__(self):
        return iter(self._space.features)

    def __len__(self):
        return len(self._space.features)

    def __repr__(self):
        return repr(dict(self))
