"""Work for the first GPU, through libcuda alone: `python load.py SECONDS`. Exit status 3: there is no CUDA."""

import ctypes
import sys
import time

BYTES = 1 << 28
AT_ONCE = 200


def main(seconds: float) -> int:
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 3
    device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    failed = (
        cuda.cuInit(0)
        or cuda.cuDeviceGet(ctypes.byref(device), 0)
        or cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device)
        or cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(BYTES))
    )
    if failed:
        return 3
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for value in range(AT_ONCE):
            cuda.cuMemsetD32_v2(memory, value, ctypes.c_size_t(BYTES // 4))
        if cuda.cuCtxSynchronize():
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
