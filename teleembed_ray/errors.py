"""The three kinds of failure that a person can act on; everything else is a bug and keeps its traceback."""


class ConfigError(Exception):
    """The configuration, or what it points at, is wrong: one line with file, key, value and rule; exit code 2."""


class ArtifactError(Exception):
    """A table of the lake is missing, stale or damaged: the message names the stage to run; exit code 3."""


class RetryableError(Exception):
    """Something that may well work on the next try (a throttled request, a lost connection)."""
