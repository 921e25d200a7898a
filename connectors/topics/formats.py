"""The codecs of the topics of a processor."""

from collections.abc import Callable

import orjson

from connectors.config import Config
from connectors.formats.codecs import make_codec, parser
from connectors.formats.registry import Registry


def registry_of(config: Config) -> Registry | None:
    """Return a client of the schema registry that a file names, or None. Raise StartError if it cannot be made."""
    address = config.record.registry
    return Registry(address.url, address.username, address.password, address.ssl_cafile) if address else None


class Formats:
    """What reads records and labels, and writes outputs. Each attribute is None for JSON.

    Parameters
    ----------
    config
        The processor's file.

    Attributes
    ----------
    parse_record, parse_label
        Turn a value into fields, or raise Reject, or OSError if a registry does not answer.
    encode_output
        Turns an output in JSON into the value to write, or raises OSError.
    decode_output
        Turns such a value into its fields, as `parse_record` does.
    registry
        The client of the schema registry.
    """

    encode_output: Callable[[bytes], bytes] | None = None

    def __init__(self, config: Config) -> None:
        labels, registry = config.labels, registry_of(config)
        self.registry = registry
        of_records, of_outputs = config.record.format, config.output.format
        of_labels = labels.format if labels else of_records
        topic = labels.topic if labels else ""
        self.parse_record = parser(of_records, make_codec(of_records, registry, config.input.topic))
        self.parse_label = parser(of_labels, make_codec(of_labels, registry, topic))
        codec = make_codec(of_outputs, registry, config.output.topic)
        self.decode_output = parser(of_outputs, codec)
        if codec is not None:
            encode = codec.encode
            self.encode_output = lambda value: encode(orjson.loads(value))
