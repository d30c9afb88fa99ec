"""Several closed contacts at one instant: which of them press, and what sets all of them at rest."""

from __future__ import annotations

import dataclasses

import numpy as np

from saltus.contacts.wall import Wall
from saltus.numerics.components import Turn
from saltus.systems.bodies.touch import Meeting, face


@dataclasses.dataclass(frozen=True)
class Network:
    """Contacts that hang together, with the velocities as they are.

    Args:
        contacts: The contacts.
        members: The bodies.
        meetings: How the partners of each contact meet.
        levers: Generalised direction of a unit normal force of each contact, by body.
        effects: What it does to the velocities of each body.
    """

    contacts: list[tuple[int, int]]
    members: list[int]
    meetings: list[Meeting]
    levers: np.ndarray
    effects: np.ndarray

    @staticmethod
    def of(plan, contacts: list, q, v) -> Network:
        """The contacts of a crowd as they are now."""
        members = sorted({i for contact in contacts for i in plan.bodies_of(contact)})
        places = {member: k for k, member in enumerate(members)}
        meetings, levers, effects = [], [], []
        for contact in contacts:
            partners = plan.partners(contact, q, v)
            first, second = partners
            meeting = face(first, second, plan.system.gravity)
            at, rows, moved = meeting.separation, np.zeros((len(members), 6)), np.zeros((len(members), 6))
            n = np.asarray(at.normal)
            for body, point, sign, member in zip(partners, (at.point1, at.point2), (-1.0, 1.0), contact, strict=True):
                if isinstance(body, Wall):
                    continue
                lever = sign * np.concatenate([n, np.cross(np.asarray(point) - np.asarray(body.center), n)])
                rows[places[member]] = lever
                moved[places[member], :3] = lever[:3] / float(body.mass)
                turn = Turn.of_quaternion(np.asarray(body.quaternion))
                axes = np.array([[*axis] for axis in (turn.e1, turn.e2, turn.e3)])
                moved[places[member], 3:] = axes.T @ (axes @ lever[3:] / np.asarray(body.inertia))
            meetings.append(meeting)
            levers.append(rows)
            effects.append(moved)
        return Network(contacts, members, meetings, np.array(levers), np.array(effects))

    @property
    def rates(self) -> np.ndarray:
        """Rates of the gaps [m s-1]."""
        return np.array([float(meeting.motion.v) for meeting in self.meetings])

    @property
    def rate_errors(self) -> np.ndarray:
        """Rates that count as zero [m s-1]."""
        return np.array([float(meeting.tolerances.v) for meeting in self.meetings])

    def part(self, which: list[int]) -> Network:
        """Some of the contacts."""
        return Network(
            [self.contacts[k] for k in which],
            self.members,
            [self.meetings[k] for k in which],
            self.levers[which],
            self.effects[which],
        )

    def coupling(self) -> np.ndarray:
        """Change of the rate of each gap per normal impulse at each contact [kg-1]."""
        return np.einsum("cki,dki->cd", self.levers, self.effects)

    def presses(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Forces of rest [N], accelerations of the gaps that they leave, and which of those count as zero [m s-2].

        No force pulls, no gap is driven shut, and where there is a force the gap stays closed.
        """
        coupling = self.coupling()
        free = np.array([float(meeting.motion.a_eff) for meeting in self.meetings])
        errors = np.array([float(meeting.tolerances.a_eff) for meeting in self.meetings])
        # The regular part makes the forces of a body that is held more than once over the least ones.
        root = np.linalg.cholesky(coupling + 1e-13 * np.diag(np.diagonal(coupling)))
        from scipy.optimize import nnls

        forces, _ = nnls(root.T, -np.linalg.solve(root, free))
        return forces, free + coupling @ forces, errors

    def calm(self, v: np.ndarray) -> tuple[np.ndarray, float]:
        """Velocities of the members after impulses that stop every gap's rate, and the energy these take [J]."""
        rates, coupling = self.rates, self.coupling()
        impulses = np.linalg.solve(coupling + 1e-13 * np.diag(np.diagonal(coupling)), -rates)
        moved = v.copy()
        moved[:, :6] += np.einsum("c,cki->ki", impulses, self.effects)
        return moved, max(-0.5 * float(impulses @ rates), 0.0)
