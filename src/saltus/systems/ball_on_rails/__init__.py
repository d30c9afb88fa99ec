"""A ball on two parallel rails, with point contacts or finite spots."""

from saltus.systems.ball_on_rails.creep import critical_slope, terminal_creep
from saltus.systems.ball_on_rails.stick import rolling_limit
from saltus.systems.ball_on_rails.system import BallOnRails

__all__ = ["BallOnRails", "critical_slope", "rolling_limit", "terminal_creep"]
