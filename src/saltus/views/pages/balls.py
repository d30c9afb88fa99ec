"""A page of a ball on a plane, on two rails, or on the plates of a Butterfly."""

from __future__ import annotations

import numpy as np
import xarray as xr

from saltus.views.motion import orientations, radius
from saltus.views.pages.arrays import pack
from saltus.views.pages.panels import Panel, energies, of_each, speeds
from saltus.views.pages.scene import Scene

NEEDS = ("position", "contact_position", "angular_velocity", "normal_force")


def scene(dataset: xr.Dataset, rows: np.ndarray) -> Scene:
    """The support, the turning ball, its contacts, and the forces on it."""
    drawn = Scene(rows, view=(-62.0, 26.0))
    position, r = dataset["position"].values, radius(dataset)
    place, kind = position[rows], dataset.attrs["kind"]
    drawn.around(place, margin=1.2 * r)
    touch = dataset["contact_position"].values[rows]
    if "outline" in dataset:
        _plates(drawn, dataset, rows, touch)
    elif kind == "rails":
        _rails(drawn, dataset, r)
    else:
        low, high = drawn.low - 0.8 * r, drawn.high + 0.8 * r
        drawn.add(
            "sheet",
            corner=[low[0], low[1], 0.0],
            along=[high[0] - low[0], 0.0, 0.0],
            across=[0.0, high[1] - low[1], 0.0],
        )
    turned = orientations(dataset["time"].values, dataset["angular_velocity"].values)
    drawn.add(
        "bodies",
        name="ball",
        position=drawn.place(place[:, None]),
        quaternion=pack(turned[rows][:, None]),
        shapes=[{"axes": [r, r, r], "exponents": [2, 2, 2]}],
        which=[0],
        inks=[0],
        labels=["ball"],
        trail=True,
        clear=kind == "butterfly",
    )
    # Of a planned motion one normal force is told, the same for both contacts.
    load = np.broadcast_to(dataset["normal_force"].values[rows].reshape(len(rows), -1), touch.shape[:2])
    pressed = np.where((load > 0)[..., None], touch, np.nan)
    drawn.add("contacts", name="contacts", at=drawn.place(pressed), radius=0.06 * r)
    outward = place[:, None] - touch
    outward = outward / np.linalg.norm(outward, axis=-1, keepdims=True)
    drawn.arrows("normal force", "N", pressed, load[..., None] * outward, 2)
    drawn.arrows_of(dataset, "friction_force", pressed, 1, shown=True)
    drawn.arrows_of(dataset, "velocity", place[:, None], 5)
    drawn.arrows_of(dataset, "angular_velocity", place[:, None], 3)
    drawn.follow_if_small(r)
    return drawn


def _rails(drawn: Scene, dataset: xr.Dataset, r: float) -> None:
    """Two round bars that the ball touches from above."""
    touch = np.nanmedian(dataset["contact_position"].values, axis=0)
    centre = np.nanmedian(dataset["position"].values, axis=0)
    thick = 0.09 * r
    first, last = drawn.low[0] - r, drawn.high[0] + r
    for point in touch:
        away = (point - centre) * np.array([0.0, 1.0, 1.0])
        middle = point + thick * away / np.linalg.norm(away)
        ends = [[float(x), float(middle[1]), float(middle[2])] for x in (first, last)]
        drawn.add("bar", ends=ends, radius=thick)
        drawn.around(np.array(ends))


def _plates(drawn: Scene, dataset: xr.Dataset, rows: np.ndarray, touch: np.ndarray) -> None:
    """Two thin plates whose inner edges the ball touches, turning together about the y axis."""
    outline = dataset["outline"].values
    drawn.around(outline)
    apart = float(np.nanmedian(np.abs(touch[..., 1])))
    angle = dataset["plate_angle"].values
    # The outline as the plates have it before they turn.
    c, s = np.cos(angle[0]), np.sin(angle[0])
    x, z = outline[0][:, 0], outline[0][:, 2]
    sign = _sense(outline, angle)
    flat = np.stack([c * x + sign * s * z, -sign * s * x + c * z], axis=-1)
    thick = 0.12 * apart
    drawn.add(
        "plates", outline=pack(flat), angle=pack(angle[rows]), sense=sign, at=[-apart - thick, apart], thickness=thick
    )
    drawn.around(np.array([[0.0, -apart - thick, 0.0], [0.0, apart + thick, 0.0]]))


def _sense(outline: np.ndarray, angle: np.ndarray) -> float:
    """Whether a growing angle turns x towards z (1) or away from it (-1), from the outline itself."""
    far = int(np.argmax(np.abs(angle - angle[0])))
    turn = angle[far] - angle[0]
    start, end = outline[0][:, [0, 2]], outline[far][:, [0, 2]]
    errors = {}
    for sign in (1.0, -1.0):
        c, s = np.cos(turn), sign * np.sin(turn)
        errors[sign] = np.abs(start @ np.array([[c, s], [-s, c]]) - end).max()
    return min(errors, key=lambda sign: errors[sign])


def panels(dataset: xr.Dataset) -> list[Panel | None]:
    """Slip and spin at the contacts, forces, speeds and energies."""
    turning = radius(dataset) * np.linalg.norm(dataset["angular_velocity"].values, axis=-1)
    lines = {"angular velocity × radius": turning}
    if "velocity" in dataset:
        lines = {"of the centre": np.linalg.norm(dataset["velocity"].values, axis=-1), **lines}
    found = [
        speeds(dataset, "", "slip", "slip at the contacts"),
        Panel("speed", "m s-1", lines, inks=(5, 3)[-len(lines) :]),
        of_each(dataset, "normal_force", "normal force", ""),
        speeds(dataset, "", "friction_force", "friction force"),
        of_each(dataset, "spin", "spin about the contact normal", ""),
        energies(dataset),
    ]
    if "plate_angle" in dataset:
        angles = {"plates": dataset["plate_angle"].values, "ball on them": dataset["profile_angle"].values}
        found.insert(0, Panel("angles", "rad", angles))
        needed = dataset["required_friction"].values
        found.insert(2, Panel("friction force over normal force", "1", {"F / N": needed}))
    return found
