"""The demos that `river-margins demo` runs."""
