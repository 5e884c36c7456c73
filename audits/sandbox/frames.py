"""The protocol between this program and its worker processes: length-prefixed MessagePack documents."""

import struct
from functools import lru_cache
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from audits.sandbox.outcomes import Ending, Outcome

MUTATED = 2  #: is added to the number of the ending
LENGTH = struct.Struct("<I")
_encode = msgspec.msgpack.Encoder().encode


def read_frame(stream: IO[bytes]) -> Any:
    """Return the next document; raises `EOFError` at the end of the stream."""
    head = stream.read(LENGTH.size)
    body = stream.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else b""
    if len(head) < LENGTH.size or len(body) < LENGTH.unpack(head)[0]:
        raise EOFError
    return msgspec.msgpack.decode(body)


def write_frame(stream: IO[bytes], document: object) -> None:
    """Write one document and flush, so that nothing is lost if the next run kills the process."""
    body = _encode(document)
    stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


def pack_array(data: NDArray[Any]) -> list[object]:
    """Serialise an array: type, shape, bytes."""
    return [str(data.dtype), list(data.shape), data.tobytes()]


def unpack_array(parts: list[Any]) -> NDArray[Any]:
    """Deserialise an array."""
    return np.frombuffer(parts[2], dtype=np.dtype(parts[0])).reshape(parts[1]).copy()


def pack_outcome(outcome: Outcome) -> list[object]:
    """Serialise an outcome."""
    return [
        outcome.structure,
        outcome.labels,
        outcome.numbers.tobytes(),
        outcome.ending + MUTATED * outcome.mutated,
        outcome.names,
        outcome.titles,
    ]


def unpack_outcome(answer: list[Any]) -> Outcome:
    """Deserialise an outcome."""
    structure, labels, numbers, ending, names, titles = answer
    return Outcome(
        structure,
        tuple(labels),
        np.frombuffer(numbers),
        Ending(ending & ~MUTATED),
        bool(ending & MUTATED),
        _interned(tuple(names)),
        _interned(tuple(titles)),
    )


@lru_cache(maxsize=256)
def _interned(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return equal names as one object, to save memory: thousands of outcomes have them."""
    return names
