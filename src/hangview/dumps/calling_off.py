"""Reading is called off: somebody closes the screen while files are found or read."""


class Cancelled(Exception):  # noqa: N818 - asked for
    """Reading was called off."""
