"""What travels between this program and its processes: MessagePack documents, each after its length."""

import struct
from functools import lru_cache
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from audits.sandbox.outcomes import Outcome

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


def packed(data: NDArray[Any]) -> list[object]:
    """Return a dataset as it travels: type, shape, bytes."""
    return [str(data.dtype), list(data.shape), data.tobytes()]


def unpacked(parts: list[Any]) -> NDArray[Any]:
    """Return a dataset that travelled."""
    return np.frombuffer(parts[2], dtype=np.dtype(parts[0])).reshape(parts[1]).copy()


def sent(outcome: Outcome) -> list[object]:
    """Return an outcome as it travels."""
    flags = int(outcome.failed) + 2 * int(outcome.mutated) + 4 * int(outcome.opaque)
    return [
        outcome.structure,
        outcome.labels,
        outcome.numbers.tobytes(),
        flags,
        outcome.names,
        outcome.titles,
    ]


def received(answer: list[Any]) -> Outcome:
    """Return an outcome that travelled."""
    structure, labels, numbers, flags, names, titles = answer
    return Outcome(
        structure,
        tuple(labels),
        np.frombuffer(numbers),
        bool(flags & 1),
        bool(flags & 2),
        bool(flags & 4),
        _kept(tuple(names)),
        _kept(tuple(titles)),
    )


@lru_cache(maxsize=256)
def _kept(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return equal names as one object: thousands of outcomes have them."""
    return names
