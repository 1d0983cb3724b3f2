"""What is raised when something cannot be done for a reason that the user can mend."""


class Trouble(Exception):
    """One sentence that names the file, key or flag, and the remedy. A verb exits with 2 on it (`run`: 125)."""
