"""Times of the contract, and spans of time, in words."""

from calendar import timegm
from time import strptime


def seconds(at: str) -> int:
    """Since 1970, of a time as the contract writes it."""
    return timegm(strptime(at, "%Y-%m-%dT%H:%M:%SZ"))


def span(begun: str, ended: str) -> str:
    """How long it lasted."""
    return lasted(seconds(ended) - seconds(begun))


def lasted(of: int) -> str:
    """`9 s`, `4 min`, `3 h 12 min`, `2 days 3 h`. of: seconds."""
    if of < 120:
        return f"{of} s" if of else "less than 1 s"
    minutes = round(of / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} day{'s' * (days > 1)}" + (f" {hours} h" if hours else "")


def day(at: str) -> str:
    return at[:10]


def clock(at: str) -> str:
    return at[11:19]


def since(at: str, seen: str) -> str:
    """`at`, as short as it can be told beside `seen`."""
    return clock(at) if day(at) == day(seen) else f"{day(at)} {clock(at)}"
