from typing import Any, final

import numpy as np

@final
class Expansion: ...

def arrays_of(state: dict[str, Any], features: int) -> tuple[np.ndarray[Any, Any], ...]: ...
