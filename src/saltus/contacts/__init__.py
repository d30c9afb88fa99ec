"""Contacts of bodies: how far, when, and of which kind."""

from typing import TYPE_CHECKING

from saltus._late import late

if TYPE_CHECKING:
    from saltus.contacts import paradox
    from saltus.contacts.classify import LABELS, Contact, classify
    from saltus.contacts.first_contact import FirstContact, closest_approach, first_contact
    from saltus.contacts.gap import Separation, gap
    from saltus.contacts.impact import collide, mobility
    from saltus.contacts.local import LocalMotion, local_motion

__all__ = [
    "LABELS",
    "Contact",
    "FirstContact",
    "LocalMotion",
    "Separation",
    "classify",
    "closest_approach",
    "collide",
    "first_contact",
    "gap",
    "local_motion",
    "mobility",
    "paradox",
]

__getattr__, __dir__ = late(
    __name__,
    {
        "paradox": (),
        "classify": ("LABELS", "Contact", "classify"),
        "first_contact": ("FirstContact", "closest_approach", "first_contact"),
        "gap": ("Separation", "gap"),
        "impact": ("collide", "mobility"),
        "local": ("LocalMotion", "local_motion"),
    },
)
