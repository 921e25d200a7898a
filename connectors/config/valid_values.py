"""The valid values of a file that may have mistakes elsewhere, for checks that compare several values."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, TypeAdapter, ValidationError

from connectors.config.yaml_file import Path


class PathProblem(NamedTuple):
    """A problem at a path of the data; `blames_key` is False if the value is to blame and not its key."""

    path: Path
    sentence: str
    blames_key: bool = True


class ValidValues:
    """The values of a file that are valid by themselves, by path.

    A key that the file leaves out has its default value. A path is absent if its value is invalid or missing; a list
    with invalid items has its other items. So each check compares what can be compared, and one mistake in a file does
    not hide another one.

    Parameters
    ----------
    schema
        The model of the whole file.
    data
        The data of the file.
    is_broken
        Tells whether the value at a path could not be read.

    >>> from connectors.config.schema import AnyConfig
    >>> values = ValidValues(AnyConfig, {"record": {"id": 3, "label": "y"}}, lambda path: False)
    >>> values.get("record", "id"), values.get("record", "label"), values.get("record", "features")
    (None, 'y', None)
    >>> values.has("record", "id"), values.has("record", "features")
    (False, True)
    """

    def __init__(self, schema: type[BaseModel], data: dict[str, Any], is_broken: Callable[[Path], bool]) -> None:
        self._is_broken = is_broken
        self._values: dict[Path, Any] = dict(self._of_section(schema, data, ()))

    @classmethod
    def of(cls, config: BaseModel) -> "ValidValues":
        """Return the values of a whole file that is valid."""
        values = cls.__new__(cls)
        values._values = dict(_unfold((), config))
        return values

    def has(self, *path: str) -> bool:
        """Tell whether the value at a path is valid."""
        return path in self._values

    def get(self, *path: str) -> Any:
        """Return the value at a path; None also if it is absent."""
        return self._values.get(path)

    def _of_section(self, schema: type[BaseModel], data: dict[str, Any], path: Path) -> Iterator[tuple[Path, Any]]:
        for name, field in schema.model_fields.items():
            here = (*path, name)
            if name in data:
                annotation: Any = field.annotation
                kind: Any = Annotated[annotation, *field.metadata] if field.metadata else annotation
                yield from self._of_value(TypeAdapter(kind), section_of(annotation), data[name], here)
            elif not field.is_required():
                yield from _unfold(here, field.get_default(call_default_factory=True))

    def _of_value(
        self, adapter: TypeAdapter[Any], section: type[BaseModel] | None, value: Any, here: Path
    ) -> Iterator[tuple[Path, Any]]:
        if self._is_broken(here):
            return
        items = dict(enumerate(value)) if isinstance(value, list) else {}
        readable = [item for index, item in items.items() if not self._is_broken((*here, index))]
        try:
            yield from _unfold(here, adapter.validate_python(readable if isinstance(value, list) else value))
        except ValidationError as error:
            if isinstance(value, list):
                wrong = {detail["loc"][0] for detail in error.errors() if detail["loc"]}
                valid = [item for index, item in enumerate(readable) if index not in wrong]
                with contextlib.suppress(ValidationError):
                    yield from _unfold(here, adapter.validate_python(valid))
            elif section is not None and isinstance(value, dict):
                yield from self._of_section(section, value, here)


def _unfold(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    yield path, value
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _unfold((*path, name), getattr(value, name))


def section_of(annotation: Any) -> type[BaseModel] | None:
    """Return the section that a field of this type holds, or None for a plain value."""
    candidates = getattr(annotation, "__args__", (annotation,))
    return next((kind for kind in candidates if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
