"""A small program whose speed depends on its surroundings: hashes 4 GB in OMP_NUM_THREADS threads.

hashlib lets go of the interpreter lock, so the threads run at the same time as far as the CPUs that the
process may use allow it.
"""

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor

BLOCK = bytes(16 << 20)
BLOCKS = 256


def digest(_: int) -> str:
    return hashlib.sha256(BLOCK).hexdigest()


if __name__ == "__main__":
    threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
    with ThreadPoolExecutor(threads) as pool:
        print(f"{len(list(pool.map(digest, range(BLOCKS))))} blocks in {threads} threads")
