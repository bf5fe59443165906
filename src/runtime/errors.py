"""Errors and warnings of the runtime floor."""


class BuildError(RuntimeError):
    """A C++ text could not be turned into machine code; the message says where text and log are.

    `source` and `log` are paths, or empty where nothing could be kept on disk.
    """

    def __init__(self, message: str, *, source: str = "", log: str = "") -> None:
        super().__init__(message)
        self.source = source
        self.log = log


class NoCompilerError(BuildError):
    """No C++ compiler was found on this machine."""


class BrokenCompilerError(BuildError):
    """The compiler that was found cannot compile an empty program."""


class StepError(RuntimeError):
    """A step of a plan reported a failed check: its index in the plan, a code and a value."""

    def __init__(self, step: int, code: int, value: int) -> None:
        super().__init__(f"step {step} of the plan failed its check {code} with the value {value}")
        self.step = step
        self.code = code
        self.value = value


class CacheWarning(UserWarning):
    """The disk cache cannot be used; what is built is kept for this process only."""
