from typing import Any

from river import compose

class Pipeline(compose.Pipeline):
    def learn_one(self, x: dict[Any, Any], y: Any = None, **params: Any) -> None: ...
    def predict_one(self, x: dict[Any, Any], **params: Any) -> Any: ...
