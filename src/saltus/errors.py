"""The few exception types of saltus."""


class SaltusError(Exception):
    """Base of the errors that saltus raises on purpose."""


class ScenarioError(SaltusError, ValueError):
    """A scenario, option or file that cannot be used; the message says what to do."""


class MissingExtraError(SaltusError, ImportError):
    """An optional dependency that is not installed; the message names the extra."""
