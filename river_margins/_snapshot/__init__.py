"""The parts of `river_margins.snapshot`: values as bytes, objects as values, River's steps, differences in words."""
