"""One rigid body on the ground: it flies, bounces, slides, rolls, spins and rests."""

from saltus.systems.ground_body.system import BodyOnGround

__all__ = ["BodyOnGround"]
