"""fingerprintd: the service, and with `reader` the part of it that has the privileges."""

import os
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

from fingerprint.settings import load
from fingerprint.store.errors import UnusableNow
from fingerprint.trouble import Trouble

USAGE = """\
usage: fingerprintd [reader [SOCKET]]

Without an argument: reads this host by itself, notices what serves, and answers on its socket.
reader: reads for it what needs privileges, on a socket of its own.
Ends with 0 when it was told to (SIGTERM, SIGINT), with 2 where it cannot begin until somebody mends something, with 1
where it may later: the store is locked, or its disk is full. On SIGHUP it reads its configuration again."""
LATER, TROUBLE = 1, 2


def main() -> NoReturn:
    status = _main(sys.argv[1:])
    if threading.active_count() > 1:  # one that hangs, and that the interpreter would wait for
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def _main(arguments: Sequence[str]) -> int:
    if arguments[:1] not in ([], ["reader"]) or len(arguments) > 2:
        told = arguments in (["--help"], ["-h"])
        print(USAGE, file=sys.stdout if told else sys.stderr)
        return 0 if told else TROUBLE
    try:
        _run(arguments[1:]) if arguments[:1] else _serve()
    except Trouble as trouble:
        print(f"fingerprintd: {trouble}", file=sys.stderr)  # noqa: T201
        return LATER if isinstance(trouble, UnusableNow) else TROUBLE
    return 0


def _run(path: Sequence[str]) -> None:
    from fingerprint.service.reading import run

    run(lambda: load(os.environ), os.environ, path="".join(path), held_by=0 if path else None)


def _serve() -> None:
    from fingerprint.service.main import serve

    serve(os.environ)


if __name__ == "__main__":
    main()
