from typing import final

from river_margins.spaces.gaussian import Gaussian

@final
class Diagonal(Gaussian): ...
