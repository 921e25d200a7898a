"""Where things are in a clone."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
