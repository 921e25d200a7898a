"""Learners that keep, or approximate, the set of all weight vectors that are consistent with the examples."""

from river_margins.version_space.ellipsoid import EllipsoidClassifier
from river_margins.version_space.gravity import CenterOfGravityClassifier
from river_margins.version_space.space import VersionSpace
from river_margins.version_space.volumetric import VolumetricCenterClassifier

__all__ = ["CenterOfGravityClassifier", "EllipsoidClassifier", "VersionSpace", "VolumetricCenterClassifier"]
