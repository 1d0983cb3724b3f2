"""What a verb raises when it cannot do its work."""


class Trouble(Exception):
    """One sentence that names the file, key or flag, and the remedy. The verb exits with 2 (`run`: 125)."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
