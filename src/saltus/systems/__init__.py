"""Systems: what moves, when it jumps, what it shows."""

from saltus.systems.ball_on_plane import BallOnPlane
from saltus.systems.ball_on_rails import BallOnRails
from saltus.systems.bodies import RigidBodies
from saltus.systems.butterfly import Butterfly, ButterflyPlan, Turning, TurningFunction, TurningTable
from saltus.systems.chain import Chain
from saltus.systems.ground_body import BodyOnGround
from saltus.systems.raft import Raft
from saltus.systems.sliding import SlidingMasses

__all__ = [
    "BallOnPlane",
    "BallOnRails",
    "BodyOnGround",
    "Butterfly",
    "ButterflyPlan",
    "Chain",
    "Raft",
    "RigidBodies",
    "SlidingMasses",
    "Turning",
    "TurningFunction",
    "TurningTable",
]
