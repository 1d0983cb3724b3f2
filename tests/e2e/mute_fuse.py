"""A file system whose daemon answers INIT and nothing after it: who looks in waits in state D.

    mute_fuse.py FOLDER    mounts there, prints "mounted", and stays mute until it is killed

A request that the daemon has read cannot be interrupted, not even by SIGKILL (fs/fuse/dev.c,
request_wait_answer), which is how a driver that hangs looks from outside.
"""

import ctypes
import os
import struct
import sys

FUSE_INIT = 26


def mount(folder: str) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if libc.mount(b"mute", folder.encode(), b"fuse.mute", 0, options):
        raise OSError(ctypes.get_errno(), f"mount {folder}")
    return device


def answer_init(device: int) -> None:
    _length, opcode, unique = struct.unpack_from("<IIQ", os.read(device, 1 << 20))
    assert opcode == FUSE_INIT
    body = struct.pack("<IIIIHHIIHHI7I", 7, 31, 65536, 0, 16, 12, 65536, 1, 16, 0, 0, *[0] * 7)
    os.write(device, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)


if __name__ == "__main__":
    device = mount(sys.argv[1])
    answer_init(device)
    print("mounted", flush=True)
    while True:
        os.read(device, 1 << 20)
