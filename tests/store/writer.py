"""Writes runs until it is killed. Prints each run's id once its last record is acknowledged.

python -m tests.store.writer STORE NAME
"""

import os
import sys
from pathlib import Path

from fingerprint.store import Store
from tests.store.samples import whole_run


def main() -> None:
    store = Store.open(Path(sys.argv[1]), patience=60)
    while True:
        run_id = whole_run(store, sys.argv[2], speed=os.getpid())
        os.write(1, f"{run_id}\n".encode())


if __name__ == "__main__":
    main()
