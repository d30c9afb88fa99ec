"""Contacts of bodies: how far, when, and of which kind."""

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
