"""How a machine is read: one module an area, and the kit that all of them are made of."""

NOT_OF_THE_HOST = (
    "container",
    "engine",
    "libraries",
    "mapped",
    "model",
    "nccl",
    "neighbours",
    "process",
    "storage",
    "usage",
)
"""Areas about a process or an environment, told by name: who reads the host alone imports none of them."""
