"""The spare process itself: takes one piece of work after the other from its standard input.

`python -P -m contextfind.adapters.process.child NICENESS [MODULE…]`: the modules are loaded before it says that it is
ready. It ends with its input, so no server leaves one behind, however it ends. Framing: eight bytes of length, then
`READY` or a pickle.
"""

import importlib
import os
import pickle
import signal
import struct
import sys
from types import TracebackType
from typing import IO, Self

LENGTH = struct.Struct(">Q")
READY = b"ready"


def send(stream: IO[bytes], data: bytes) -> None:
    """Write one frame."""
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """Return the next frame.

    Raises:
        EOFError: the other side has ended.

    """
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    (length,) = LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


class _Outcome:
    """What became of a piece of work: its result, or the error that it ended with."""

    def __init__(self) -> None:
        self.result: object = None
        self.error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: object, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.error = error
        return True  # it belongs to whoever waits for the result


def outcome_of(work: bytes) -> bytes:
    """Return the pickle of (error or None, result) of the pickle of (function, arguments, named ones)."""
    with _Outcome() as outcome:
        function, arguments, named = pickle.loads(work)  # noqa: S301 - from the process that started us
        outcome.result = function(*arguments, **named)
    return pickle.dumps((outcome.error, outcome.result), pickle.HIGHEST_PROTOCOL)


def serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Work until the source ends."""
    send(sink, READY)
    while True:
        try:
            work = receive(source)
        except EOFError:
            return
        send(sink, outcome_of(work))


def main() -> None:
    """Serve standard input; whatever a library prints goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends us
    if hasattr(os, "nice"):
        os.nice(int(sys.argv[1]))
    for module in sys.argv[2:]:
        importlib.import_module(module)
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # so that nothing but frames comes to the server
    serve(sys.stdin.buffer, sink)


if __name__ == "__main__":
    main()
