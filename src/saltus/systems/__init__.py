"""Systems: what moves, when it jumps, what it shows. Each is loaded when first asked for."""

from typing import TYPE_CHECKING

from saltus._late import late

if TYPE_CHECKING:
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

__getattr__, __dir__ = late(
    __name__,
    {
        "ball_on_plane": ("BallOnPlane",),
        "ball_on_rails": ("BallOnRails",),
        "bodies": ("RigidBodies",),
        "butterfly": ("Butterfly", "ButterflyPlan", "Turning", "TurningFunction", "TurningTable"),
        "chain": ("Chain",),
        "ground_body": ("BodyOnGround",),
        "raft": ("Raft",),
        "sliding": ("SlidingMasses",),
    },
)
