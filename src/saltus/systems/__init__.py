"""Systems: what moves, when it jumps, what it shows."""

<<<<<<< HEAD
from saltus.systems.ball_on_plane import BallOnPlane
from saltus.systems.ball_on_rails import BallOnRails
from saltus.systems.butterfly import Butterfly, ButterflyPlan, Turning, TurningFunction, TurningTable
from saltus.systems.chain import Chain
from saltus.systems.sliding import SlidingMasses

__all__ = [
    "BallOnPlane",
    "BallOnRails",
    "Butterfly",
    "ButterflyPlan",
    "Chain",
    "SlidingMasses",
    "Turning",
    "TurningFunction",
    "TurningTable",
]
=======
from saltus.systems.bodies import RigidBodies
from saltus.systems.chain import Chain
from saltus.systems.sliding import SlidingMasses

__all__ = ["Chain", "RigidBodies", "SlidingMasses"]
>>>>>>> impact
