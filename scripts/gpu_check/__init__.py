"""gpu-check: does a snapshot say of a machine's GPUs what nvidia-smi says, and at what cost.

`bundle` builds a folder that needs nothing on that machine but Python 3.12; `machine` is what runs there.
"""
