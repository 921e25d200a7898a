"""An extension of griffe, which reads the docstrings for the API reference: only docstrings that somebody wrote."""

import inspect
from typing import Any

import griffe


class WrittenDocstrings(griffe.Extension):
    """Drops the docstrings that an attribute inherits from its type, and `__init__` from `object`."""

    def on_attribute_instance(self, *, node: Any, attr: griffe.Attribute, **_: Any) -> None:
        if attr.docstring is not None and attr.docstring.value == inspect.getdoc(type(getattr(node, "obj", None))):
            attr.docstring = None

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        if func.docstring is not None and func.docstring.value == inspect.getdoc(object.__init__):
            func.docstring = None
