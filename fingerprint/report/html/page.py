"""The document around the parts: one file that loads nothing, and runs no script but its own."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

from fingerprint.report.markup import Child, Html, tag

HERE = Path(__file__).parent


def page(title: str, *parts: Child, script: str = "page.js") -> str:
    """A whole HTML document. Its policy lets the browser load nothing, and apply and run only what is in our files.

    script: a file of ours, empty for none.
    """
    style, code = styles("colors.css", "page.css", "timeline.css"), _file(script) if script else Html()
    run = f" script-src {_digest(code)};" if script else ""
    policy = f"default-src 'none'; style-src {_digest(style)};{run} base-uri 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", style),
    )
    body = tag("body", tag("main", *parts), tag("script", code) if script else None)
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def section(title: str, *parts: Child, aside: str = "", id_: str = "") -> Html:
    """A part of the page under its heading."""
    head = tag("h2", title, tag("small", " ", aside) if aside else None)
    return tag("section", head, *parts, id=id_ or None)


def styles(*names: str) -> Html:
    """These of our files below each other."""
    return Html("".join(map(_file, names)))


@cache
def _file(name: str) -> Html:
    return Html((HERE / name).read_text(encoding="utf-8"))


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
