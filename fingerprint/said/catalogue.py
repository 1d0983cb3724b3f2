"""Every message that is known, by its id."""

from collections.abc import Mapping

from fingerprint.said import collectives, driver, engines, libraries, limits
from fingerprint.said.message import Message

THEMES = (driver, collectives, limits, engines, libraries)
CATALOGUE: Mapping[str, Message] = {message.id: message for theme in THEMES for message in theme.MESSAGES}
