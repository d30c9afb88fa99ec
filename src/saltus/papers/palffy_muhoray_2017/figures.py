"""Figures of the paradox."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from saltus.contacts.paradox import reversed_motion
from saltus.numerics import rotation
from saltus.papers.palffy_muhoray_2017.cases import Touch, Workbench
from saltus.papers.palffy_muhoray_2017.claims import curvature_sum, largest_eigenvalues
from saltus.papers.paper import Drawing
from saltus.papers.pictures import HEIGHT, WIDTH
from saltus.views.style import FAINT, INK, colour, new_figure


def _surface(body, count: int = 41) -> np.ndarray:
    """Points of a body's surface in the lab, on a grid of directions."""
    polar, round_ = np.meshgrid(
        np.linspace(1e-3, np.pi - 1e-3, count), np.linspace(0, 2 * np.pi, 2 * count), indexing="ij"
    )
    unit = np.stack([np.sin(polar) * np.cos(round_), np.sin(polar) * np.sin(round_), np.cos(polar)], axis=-1)
    axes, exponents = np.asarray(body.shape.axes), np.asarray(body.shape.exponents)
    length = (np.abs(unit / axes) ** exponents[0]).sum(axis=-1) ** (-1.0 / exponents[0])
    matrix = np.asarray(rotation.matrix(body.quaternion))
    return (unit * length[..., None]) @ matrix.T + np.asarray(body.center)


def _draw_pair(axes, touch: Touch, arrows: bool = True) -> None:
    for index, body in enumerate((touch.one, touch.two)):
        x, y, z = np.moveaxis(_surface(body), -1, 0)
        axes.plot_surface(
            x, y, z, color=colour(index), alpha=0.28, linewidth=0, antialiased=True, shade=True, rcount=41, ccount=41
        )
        axes.plot_wireframe(x, y, z, color=colour(index), alpha=0.25, linewidth=0.3, rcount=13, ccount=13)
        if arrows:
            center, spin = np.asarray(body.center), np.asarray(body.angular_velocity)
            axes.plot(*zip(center, touch.point, strict=True), color=INK, linewidth=1.2)
            axes.plot(
                *zip(center, center + spin * 2.0 / max(np.linalg.norm(spin), 1e-9), strict=True),
                "--",
                color=colour(index),
                linewidth=1.4,
            )
    axes.scatter(*touch.point, color=colour(3), s=28, depthshade=False)
    axes.set_box_aspect((1, 1, 1), zoom=1.2)
    corners = np.concatenate([_surface(body, 9).reshape(-1, 3) for body in (touch.one, touch.two)])
    middle, reach = (corners.min(axis=0) + corners.max(axis=0)) / 2, 0.5 * np.ptp(corners, axis=0).max()
    axes.set(
        xlim=(middle[0] - reach, middle[0] + reach),
        ylim=(middle[1] - reach, middle[1] + reach),
        zlim=(middle[2] - reach, middle[2] + reach),
    )
    axes.set_axis_off()


def configuration(work: Workbench) -> Figure:
    figure = new_figure(WIDTH, 4.6)
    axes = figure.add_subplot(projection="3d")
    _draw_pair(axes, work.published)
    axes.view_init(elev=18, azim=-38)
    return figure


def figure_eight(work: Workbench) -> Figure:
    """Which points of body 2 would lie inside body 1 if Q did not move: (41), and the deepest of them, (45)."""
    figure = new_figure(4.8, 4.2)
    axes = figure.subplots()
    touch = work.ellipsoids
    n, w = touch.normal, np.asarray(touch.contact.local.w)
    curvature = np.asarray(curvature_sum(touch.one, touch.two, jnp.asarray(touch.point)))
    first = np.cross(n, [0.0, 0.0, 1.0])
    first = first / np.linalg.norm(first)
    second = np.cross(n, first)
    angles = np.linspace(0.0, 2 * np.pi, 721)
    direction = np.cos(angles)[:, None] * first + np.sin(angles)[:, None] * second
    rim = -(direction @ w) / (0.5 * np.einsum("ia,ab,ib->i", direction, curvature, direction))
    for index, t in enumerate((-0.1, 0.1)):
        size = np.where(rim * t > 0, rim * t, np.nan)
        axes.plot(size * np.cos(angles), size * np.sin(angles), color=colour(index), label=f"t = {t:+g}")
        axes.plot(size / 2 * np.cos(angles), size / 2 * np.sin(angles), ":", color=colour(index))
    axes.plot(0, 0, "o", color=INK, markersize=4)
    axes.set(aspect="equal", xlabel="ε along the first tangent", ylabel="ε along the second")
    axes.legend()
    return figure


def gap_of_time(work: Workbench) -> Figure:
    figure = new_figure(WIDTH + 0.6, HEIGHT)
    left, right = figure.subplots(1, 2)
    times, gap = work.gap_curve("published")
    left.axhline(0.0, color=INK, linewidth=0.6)
    left.fill_between(times, gap, 0.0, where=gap < 0, color=colour(1), alpha=0.25, linewidth=0)
    left.plot(times, gap, color=colour(0), label="true gap")
    jerk = float(work.published.contact.local.gap3)
    near = np.abs(times) < 0.12
    left.plot(times[near], jerk * times[near] ** 3 / 6, "--", color=INK, linewidth=0.9, label="j t³/6")
    left.set(xlabel="time", ylabel="gap, if nothing happened", ylim=(-0.012, 0.03))
    left.legend()
    size = np.abs(gap)
    for sign, label, tone in ((-1, "before: apart", 0), (1, "after: inside", 1)):
        side = sign * times > 2e-3
        right.loglog(np.abs(times[side]), size[side], color=colour(tone), label=label)
    right.set(xlabel="|time|", ylabel="|gap|")
    right.legend()
    return figure


def types(work: Workbench) -> Figure:
    figure = new_figure(WIDTH + 1.4, 4.4)
    rows = _examples(work)
    panels = figure.subplots(2, 4).ravel()
    panels[-1].axis("off")
    for panel, (title, touch) in zip(panels[: len(rows)], rows, strict=True):
        times = np.linspace(-0.12, 0.12, 121)
        gap = touch.gaps(times)
        panel.axhline(0.0, color=INK, linewidth=0.6)
        panel.axvline(0.0, color=FAINT, linewidth=0.6)
        panel.plot(times, 1e3 * gap, color=colour(0))
        panel.fill_between(times, 1e3 * gap, 0.0, where=gap < 0, color=colour(1), alpha=0.25, linewidth=0)
        panel.set_title(f"{title}\n{touch.contact.label}", fontsize=8.5)
        panel.tick_params(labelsize=7)
    figure.supxlabel("time", fontsize=9)
    figure.supylabel("gap × 1000, in free motion", fontsize=9)
    return figure


def _examples(work: Workbench) -> list[tuple[str, Touch]]:
    """One touch of each kind, made from the known ones."""
    base, ellipsoids = work.published, work.ellipsoids

    def with_velocity(touch: Touch, change) -> Touch:
        two = touch.two.with_motion(
            touch.two.center, touch.two.velocity + jnp.asarray(change), touch.two.quaternion, touch.two.angular_velocity
        )
        return Touch("changed", touch.one, two, touch.point, touch.normal)

    across = np.cross(base.normal, [0.0, 0.0, 1.0])
    back = Touch(
        "reversed",
        reversed_motion(ellipsoids.one),
        reversed_motion(ellipsoids.two),
        ellipsoids.point,
        ellipsoids.normal,
    )
    return [
        ("with approach", with_velocity(base, -0.3 * base.normal)),
        ("with fast slip", with_velocity(base, -6.0 * across)),
        ("with slower slip", with_velocity(base, 3.0 * across)),
        ("published", base),
        ("in a plane", work.planar),
        ("two ellipsoids", ellipsoids),
        ("the same, time reversed", back),
    ]


def contact_force(work: Workbench) -> Figure:
    figure = new_figure(WIDTH + 0.6, HEIGHT)
    left, right = figure.subplots(1, 2)
    found = work.sustained
    left.plot(found.times, found.force, color=colour(2), label="contact force")
    rate = float(work.published.contact.force_rate)
    short = found.times < 0.03
    left.plot(found.times[short], rate * found.times[short], "--", color=INK, linewidth=0.9, label=f"{rate:.2f} t")
    left.set(xlabel="time", ylabel="force, unit density", ylim=(0, None))
    left.legend()
    times = np.linspace(0.0, 0.15, 76)
    released = found.after.gaps(times)
    before, gap = work.gap_curve("published")
    right.plot(before[before <= 0], gap[before <= 0], color=colour(0), label="before")
    right.plot(found.times, np.zeros_like(found.times), color=colour(2), linewidth=2.5, label="in contact")
    right.plot(found.release + times, released, color=colour(4), label="released")
    later = before >= 0
    right.plot(before[later], gap[later], "--", color=colour(1), label="without force")
    right.axvline(found.release, color=FAINT, linewidth=0.7)
    right.set(xlabel="time", ylabel="gap", ylim=(-0.01, 0.02))
    right.legend()
    return figure


def new_paradoxes(work: Workbench) -> Figure:
    figure = new_figure(WIDTH + 0.6, 3.7)
    for index, (name, view) in enumerate((("ellipsoids", (20, -60)), ("planar", (88, -90)))):
        axes = figure.add_subplot(1, 2, index + 1, projection="3d")
        touch = getattr(work, name)
        _draw_pair(axes, touch, arrows=False)
        axes.view_init(elev=view[0], azim=view[1])
        axes.set_title(
            f"{touch.name}: {touch.contact.label},\nthird derivative {float(touch.contact.local.gap3):.3f}",
            fontsize=8.5,
        )
    return figure


def ellipsoid_claim(work: Workbench) -> Figure:
    figure = new_figure(WIDTH, HEIGHT)
    axes = figure.subplots()
    bins = np.linspace(-1.0, 0.15, 116).tolist()
    for index, exponent in enumerate((2.0, 3.0, 4.0)):
        values = largest_eigenvalues(exponent, 6000)
        label = "ellipsoids" if exponent == 2.0 else f"exponent {exponent:g}"
        axes.hist(
            values,
            bins=bins,
            histtype="step",
            color=colour(index),
            density=True,
            label=f"{label}, largest {values.max():+.3f}",
        )
    axes.axvline(0.0, color=INK, linewidth=0.8)
    axes.set(xlabel="largest n·v̇ / (|ω|² n·p) at a random point", ylabel="frequency", yscale="log")
    axes.legend(loc="upper left")
    return figure


DRAWINGS = (
    Drawing("fig-2", "Fig. 2: the figure eight", "Points of body 2 within the loops would be inside body 1 if the contact point stood still; "
            "dotted: the deepest. Here for two ellipsoids.", figure_eight),
    Drawing("fig-3", "Fig. 3: the published event", "Arms to the contact point, and directions of the angular velocities (dashed).", configuration),
    Drawing("gap", "The gap of the published event", "Apart before, overlapping after: gap ≈ j t³/6.", gap_of_time),
    Drawing("types", "Touches of every kind", "The label follows from the first three derivatives of the true gap.", types),
    Drawing("force", "What resolves it", "A finite force keeps the bodies in contact, conserves energy and momenta, and vanishes as they separate.", contact_force, play="paradox"),
    Drawing("new", "Paradoxes that should not exist", "Two ellipsoids, and a motion in a plane.", new_paradoxes),
    Drawing("ellipsoids", "n·v̇ ≤ 0 for ellipsoids", "True, and false for superellipsoids: that is what type 2b* needs.", ellipsoid_claim),
)  # fmt: skip
