"""What a user can put right, as one class of errors.

Knows no program. Standard library only, and it must parse on Python 3.6, because `rollcall.programs.preflight` needs it
before .venv exists: hence no `from __future__ import annotations`.
"""


class UserError(Exception):
    """Something that a user can put right; the text is one sentence that says what, and how.

    More arguments are lines below it, such as the last lines that a failed program printed.
    """

    # The exit status of a program that ends with it.
    status = 2

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))


class ConfigError(UserError):
    """A setting that cannot be used: `key=value: why`, `--option value: why`, or `key: why` if no value would do."""

    def __init__(self, why: str, key: str = "", value: object = None) -> None:
        named = key if value is None else f"{key}{' ' if key.startswith('--') else '='}{value}"
        super().__init__(f"{named}: {why}" if key else why)
        self.why, self.key, self.value = why, key, value


class ClusterError(UserError):
    """A Kafka cluster does not answer, or not to this user; the text says why."""


NO_TOPIC = "there is no such topic, or this user may not know it"
NO_RIGHT_TO_TOPIC = "this user has no right to it"
