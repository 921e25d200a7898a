"""Lines of svmlight, also called LIBSVM: `label index:value index:value # comment`."""

import re
from typing import Any

from connectors.model.rejects import Reject

LABEL, GROUP = "label", "qid"  # the fields of a record beside its features, whose names are their indices
INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def is_comment(line: bytes) -> bool:
    """Tell whether a line holds a comment and no record."""
    return line.lstrip().startswith(b"#")


def parse(line: bytes) -> dict[str, Any]:
    """Turn a line into fields, or raise Reject.

    >>> parse(b"+1 qid:3 1:0.5 7:2 # spam")
    {'label': 1, 'qid': 3, '1': 0.5, '7': 2}
    """
    try:
        words = line.decode().partition("#")[0].split()
    except UnicodeDecodeError as error:
        raise Reject(f"not UTF-8: byte {error.start}") from None
    fields: dict[str, Any] = {}
    if words and ":" not in words[0]:
        fields[LABEL] = _number(words.pop(0), "the label")
    for word in words:
        name, colon, text = word.partition(":")
        if not colon or not (name == GROUP or (name.isascii() and name.isdigit())):
            raise Reject(f"not svmlight: `{word[:100]}` is not `index:value`")
        if name in fields:
            raise Reject(f"not svmlight: the index {name} appears twice")
        fields[name] = _number(text, f"the value of {name}")
    return fields


def _number(text: str, what: str) -> int | float:
    try:
        if "_" in text or not text.isascii():  # 1_5 is 15 to Python, and there are digits of other scripts
            raise ValueError
        return int(text) if INTEGER.fullmatch(text) else float(text)
    except ValueError:
        raise Reject(f"not svmlight: {what} is `{text[:100]}`, and not a number") from None
