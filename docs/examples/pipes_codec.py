"""A codec of one's own: values such as `id=a|x=1.5|y=true`."""

import orjson


class Pipes:
    def decode(self, value):
        fields = {}
        for pair in value.decode().split("|"):
            name, equals, text = pair.partition("=")
            if not equals:
                raise ValueError(f"`{pair}` is no `name=value`")
            try:
                fields[name] = orjson.loads(text)
            except orjson.JSONDecodeError:
                fields[name] = text
        return fields

    def encode(self, fields):
        return "|".join(f"{name}={self._text(cell)}" for name, cell in fields.items()).encode()

    def _text(self, cell):
        return cell if isinstance(cell, str) else orjson.dumps(cell).decode()
