"""The worked cases of this room."""

import json

from tests.helpers.paths import ROOT

CASES = {case["id"]: case for case in json.loads((ROOT / "tests/golden/conversions.json").read_text())}


def nonzero(weights):
    return {name: weight for name, weight in weights.items() if weight}
