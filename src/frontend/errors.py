"""Signals inside the frontend."""


class Refused(Exception):
    """This call cannot be replayed; the text says why."""
