"""The benchmark cases in words: what is asked, where it comes from, with which numbers, to which accuracy.

Numbers are not here: `closed_forms` computes them. `tolerance` is what an engine with tolerances near rounding must
reach, absolute, by quantity ("*" for the others).
"""

from __future__ import annotations

import math

G = 9.81
ROOT = math.sqrt(0.5)
PERIOD_1 = {"g": 9.81, "e": 0.8, "A": 0.008, "w": 33.0, "n": 120}
OWN = "Elementary; derived in benchmarks/nonsmooth/closed_forms.py."
GEOMETRY = "Exact intersections of straight flights with lines and circles, 40 digits."


def _case(name, model, title, statement, source, given, tolerance=None, **more):
    return {
        "id": name, "model": model, "title": title, "statement": statement, "source": source, "input": given,
        "tolerance": {"*": 1e-10, **(tolerance or {})}, **more,
    }  # fmt: skip


NO_LIMIT = {"not_by_scipy": {"rest": "events that pile up are not told from others"}}

CASES = [
    _case("bouncing-ball", "bouncing_ball", "Bouncing ball and the end of its bounces",
          "A ball falls from h on a floor that returns the share e of its speed. Impact n is at sqrt(2h/g) (1 + 2e (1 - "
          "e^(n-1))/(1-e)); infinitely many end at sqrt(2h/g) (1+e)/(1-e).",
          "Textbook; Siconos and most hybrid codes use it as first example.",
          {"g": G, "e": 0.9, "h": 1.0, "until": 9.0}, {"event 1": 1e-13, "rest": 1e-9}, **NO_LIMIT,
          wrong_in_source="Impact 44 is also quoted as 8.491374025642981; the sum of the hops is 8.491374025647694. The "
          "difference of 5e-12 s is what an integration with usual tolerances leaves."),
    _case("bouncing-ball-soft", "bouncing_ball", "Bouncing ball that loses three quarters of its energy",
          "As bouncing-ball with e = 0.5: the bounces shrink quickly.",
          OWN, {"g": G, "e": 0.5, "h": 2.0, "until": 3.0}, {"rest": 1e-9},
          only=("event 1", "rest"), **NO_LIMIT),
    _case("bouncing-ball-gradient", "bouncing_ball_gradient", "Derivatives of a bouncing ball's height",
          "Height at t = 3 s after four bounces, differentiated by restitution, gravity and the height at the start: h = "
          "e^n v0 s - g s^2/2 with s the time since the last impact. Derivatives of the impact times count.",
          OWN, {"g": G, "e": 0.9, "h": 1.0, "until": 3.0}, {"*": 1e-9},
          second={"by": "the closed form of four bounces by hand, in tests"}),
    _case("wall-ball", "wall_ball", "Ball between two walls", "No gravity; each wall returns the share e of the speed. The "
          "n-th crossing takes L/(v e^n).", OWN, {"L": 1.0, "x": 0.25, "v": 1.0, "e": 0.8, "until": 40.0},
          {"event 10": 1e-9}),
    _case("floor-and-ceiling", "ceiling_ball", "Ball between floor and ceiling", "With gravity and losses at both: at first "
          "it reaches the ceiling, later no more.", OWN, {"g": G, "L": 1.0, "h": 0.5, "v": 6.0, "e": 0.85, "until": 6.0}),
    _case("drag-ball", "drag_ball", "Bouncing ball with quadratic drag", "v' = -g - k v|v|. Fall: cosh(t sqrt(gk)) = exp(k "
          "h); rise: tan; speeds sqrt(g/k (1 - exp(-2kh))).", OWN,
          {"g": G, "k": 0.1, "h": 5.0, "e": 0.8, "until": 4.0}),
    _case("slope-ball", "slope_ball", "Ball that bounces down a slope", "Axes along and across the slope part the motions: "
          "g cos a across, g sin a along.", OWN, {"g": G, "a": 0.3, "e": 0.7, "h": 1.0, "until": 2.5}),
    _case("wedge-billiard", "wedge", "Elastic ball in a wedge under gravity", "Walls z = c|x|; parabolas and "
          "reflections. Ten impacts.", "Lehtihet and Miller 1986, Physica D 21, 93; numbers derived here.",
          {"g": 1.0, "c": 1.2, "x": 0.3, "z": 1.5, "u": 0.4, "w": 0.1, "until": 30.0}, {"event 10": 1e-8}),
    _case("ten-beads", "beads_drop", "Ten beads that land at one instant", "All ten impacts are due at once and all must "
          "happen; afterwards all are at one height.", OWN, {"g": G, "e": 0.6, "h": 1.0, "until": 0.9},
          not_by_scipy={"events at once": "", "lowest": "beads fall through the floor", "highest": ""},
          second={"by": "the single bouncing ball of the same height"}),
    _case("ten-beads-line", "beads_line", "A knock through ten beads in a row", "Equal masses, elastic, one after the other: "
          "the last one leaves with the speed of the first.", OWN,
          {"D": 0.5, "d": 0.1, "v": 2.0, "until": 3.0}),
    _case("corner", "corner", "Into the corner of a box", "Both walls are reached at the same instant; the point returns "
          "on its own path.", OWN, {"v": 0.7, "until": 2.0}, not_by_scipy={"events": "one of the two is lost",
          "x": "", "y": ""}, second={"by": "reflection at the corner is a half turn"}),
    _case("rocking-block", "rocking_block", "Rocking block, full equation", "Block of slenderness a turned by q and let go: "
          "q'' = -p^2 sin(a - q); at each impact the rate is multiplied by r = 1 - 3/2 sin^2 a (Housner, no slip). Times by "
          "quadrature of the energy integral.", "Housner 1963, Bull. Seism. Soc. Am. 53, 403.",
          {"p": 2.0, "a": 0.3, "q": 0.2, "r": 1.0 - 1.5 * math.sin(0.3) ** 2, "until": 6.0},
          wrong_in_source="Siconos tutorials, RockingBlockED_NewMarkAlpha.ref: the program has a block of 1.0 x 0.5 m, the "
          "contact functions one of 0.2 x 0.1 m (hard-coded). The block starts with its corner on the ground, the file says "
          "a gap of 0.446 m, and lets it fall freely."),
    _case("rocking-block-slender", "rocking_slender", "Rocking block, slender limit", "q'' = -p^2 (a - q): the first impact at "
          "acosh(1/(1 - q/a))/p.", "Housner 1963.",
          {"p": 2.0, "a": 0.2, "q": 0.12, "r": 0.9, "until": 6.0}),
    _case("impact-pendulum", "impact_pendulum", "Pendulum that hits a wall at its lowest point", "Quarter periods K(sin(q/2)), "
          "and sin(q/2) shrinks by e at each impact.", OWN, {"g": G, "l": 1.0, "q": 2.0, "e": 0.9, "until": 10.0}),
    _case("ball-collision-slip", "ball_collision", "Oblique collision of two billiard balls, slipping", "Along the normal "
          "impulse P: the slip falls by 7 mu/m per P. It does not vanish: tangential impulse mu P.",
          "Method: Mathavan, Jackson and Parkin 2014, Proc. IMechE C 228; planar case in closed form here.",
          {"m": 0.17, "v": 1.5, "cos": ROOT, "sin": ROOT, "mu": 0.05, "e": 0.92}, {"*": 1e-13}),
    _case("ball-collision-stick", "ball_collision", "Oblique collision of two billiard balls, sticking", "The slip ends during "
          "the contact: tangential impulse m v sin/7, whatever mu.", "As ball-collision-slip.",
          {"m": 0.17, "v": 1.5, "cos": ROOT, "sin": ROOT, "mu": 0.3, "e": 0.92}, {"*": 1e-13}),
    _case("friction-oscillator", "friction_oscillator", "Spring and dry friction", "x'' + x = -f sign x'. Each half swing "
          "takes pi and loses 2f; it stops where the spring cannot move it.", "Textbook (Lorenz 1924).",
          {"x": 1.0, "f": 0.12, "until": 20.0}),
    _case("stick-slip-belt", "belt", "Stick-slip on a belt", "Sticks until the spring pulls with fs, slips with fd: slip "
          "2 (pi - atan((fs - fd)/b)), stick 2 (fs - fd)/b.", OWN, {"b": 0.5, "fs": 1.0, "fd": 0.6, "until": 30.0}),
    _case("weakening-belt", "weakening_belt", "Stick-slip with friction that falls with the speed", "Friction fs/(1 + d |v|), "
          "belt 0.2, d = 3.", "Leine, van Campen, de Kraker, van den Steen 1998, Nonlinear Dynamics 16, 41; numbers here by "
          "Taylor series with 25 digits.", {"b": 0.2, "fs": 1.0, "d": 3.0, "until": 60.0}, {"*": 1e-9}),
    _case("incline-stop", "incline_stop", "Block that stops on an incline and stays", "mu > tan a: stops after v/(g (mu cos a - "
          "sin a)).", OWN, {"g": G, "a": 0.2, "mu": 0.4, "v": 2.0, "until": 5.0}),
    _case("slide-to-roll", "slide_to_roll", "Ball that slides, then rolls", "Rolls from 2 (v - w)/(7 mu g) on, with 5/7 of the "
          "speed without spin.", "Textbook (Coriolis 1835).", {"g": G, "mu": 0.2, "v": 3.0, "w": -1.0, "until": 2.0}),
    _case("across-incline", "across_incline", "Block pushed across an incline with mu = tan a", "Its speed plus its downhill "
          "speed stays: from v across to v/2 downhill. Time to a direction by quadrature.", "Textbook.",
          {"g": G, "a": 0.5, "v": 2.0, "first": 0.5 * math.pi, "psi": 0.1, "until": 5.0}),
    _case("thermostat", "thermostat", "Thermostat with hysteresis", "Exponentials between two switching temperatures.",
          "Standard first example of hybrid systems.",
          {"hot": 30.0, "cold": 5.0, "low": 18.0, "high": 22.0, "until": 10.0}),
    _case("relay", "relay", "Relay: constant pull towards the middle", "x'' = -a sign x: period 4 sqrt(2x/a).", OWN,
          {"a": 2.0, "x": 1.0, "until": 20.0}),
    _case("water-tanks", "water_tanks", "Two tanks and one hose", "The hose changes to the tank that runs dry; both are "
          "empty at (x1 + x2)/(v1 + v2 - w) after infinitely many changes.",
          "Standard example of a hybrid system without continuation.",
          {"x1": 1.0, "x2": 1.0, "v1": 1.0, "v2": 0.8, "w": 1.3, "until": 6.0}, {"rest": 1e-8}, **NO_LIMIT),
    _case("woodpecker", "woodpecker", "Woodpecker toy, two-stage model", "Jammed: (I + m2 b^2) q'' = m2 b g - c q. Falling: "
          "(I + m2 b^2 m1/(m1+m2)) q'' = -c q and (m1+m2) z'' + m2 b q'' = (m1+m2) g. The beak returns the share d of the "
          "angular rate at q = -a; at q = a the sleeve jams, the bird's angular momentum about it stays. One period.",
          "Stages after Pfeiffer 1984 (Ing.-Arch. 54, 149); laws of the two impacts stated here; masses near Glocker's.",
          {"I": 7.0e-7, "m1": 3.0e-4, "m2": 4.5e-3, "b": 0.015, "c": 0.0056, "g": G, "a": 0.1, "d": 0.8, "q": 0.22,
           "until": 0.5}),
    _case("impact-oscillator", "impact_oscillator", "Driven oscillator and a wall", "x'' + x = F cos wt, wall at s, "
          "restitution e: between impacts closed forms, impacts as first roots.",
          "Shaw and Holmes 1983, J. Sound Vib. 90, 129; numbers derived here.",
          {"F": 1.0, "w": 2.8, "s": 0.1, "e": 0.8, "x": 0.0, "v": 0.3, "until": 30.0}, {"event 8": 1e-8}),
    _case("grazing-touch", "grazing", "Impact oscillator just beyond grazing", "In its steady state the oscillator enters the "
          "wall by 1e-8 of its amplitude, for 1e-4 of a period. The impact must be found.",
          "Nordmark 1991, J. Sound Vib. 145, 279 (phenomenon).",
          {"F": 1.0, "w": 0.6, "e": 0.8, "d": 1e-8, "until": 12.0}, {"event 1": 1e-6},
          not_by_scipy={"impacts": "missed", "event 1": "missed"}, second={"by": "the steady state is a cosine"}),
    _case("grazing-miss", "grazing", "Impact oscillator just before grazing", "The wall is 1e-8 of the amplitude beyond reach: "
          "in five periods there must be no impact.", "As grazing-touch.",
          {"F": 1.0, "w": 0.6, "e": 0.8, "d": -1e-8, "until": 55.0}),
    _case("bilinear-oscillator", "bilinear", "Two springs that meet at zero", "Half periods pi/sqrt(k1) and pi/sqrt(k2).", OWN,
          {"k1": 1.0, "k2": 9.0, "x": 1.0, "until": 30.0}),
    _case("shaken-table", "shaken_table", "Ball in step with a shaken table", "Table A sin wt. In the period-one motion the "
          "table's speed at the impact is g T (1-e)/(2 (1+e)); started nearby the ball falls into step.",
          "Holmes 1982, J. Sound Vib. 84, 173; exact, without the high-bounce approximation.",
          {**PERIOD_1, "h": 0.034, "v": -0.58, "until": 24.0}, {"*": 1e-8}),
    _case("table-lift-off", "lift_off", "A table that throws off its load", "The load leaves at sin wt = g/(A w^2) with the gap "
          "rising like t^3, and lands at the next root.", OWN,
          {"g": G, "A": 0.02, "w": 30.0, "until": 1.0},
          not_by_scipy={"lands": "restart on the guard", "closing speed": ""}, second={"by": "SciPy brentq on the gap"}),
    _case("narrow-dip", "narrow_dip", "A guard that dips below zero for 20 microseconds", "(t - c)^2 - h^2 along a motion so "
          "smooth that steps are long.", OWN, {"c": 3.3, "half": 1e-5, "until": 10.0}, {"event 1": 1e-10},
          not_by_scipy={"events": "missed", "event 1": "missed"}, second={"by": "roots of a square"}),
    _case("spherical-pendulum", "spherical_pendulum", "Spherical pendulum: period and turn", "From one highest point to the "
          "next: elliptic integrals of a cubic.", "Textbook (Whittaker).",
          {"g": G, "l": 1.0, "q": 1.2, "w": 1.0, "until": 3.0}),
    _case("dome", "dome", "Sliding off a dome without friction", "Leaves at cos q = (2/3) cos q0 + w^2 R/(3g).", "Textbook.",
          {"g": G, "R": 1.0, "mu": 0.0, "q": 0.1, "w": 0.5, "until": 3.0}),
    _case("dome-friction", "dome", "Sliding off a dome with friction", "w^2 solves a linear equation in q.", OWN,
          {"g": G, "R": 1.0, "mu": 0.15, "q": 0.2, "w": 1.0, "until": 3.0}),
    _case("brachistochrone", "cycloid", "Bead on a cycloid", "From rest anywhere it reaches the bottom after pi sqrt(R/g), "
          "as from the cusp: the quickest way down.", "Huygens 1673, Bernoulli 1697.",
          {"g": G, "R": 0.5, "q": 2.9, "until": 3.0}),
    _case("sinai-billiard", "sinai", "Eight reflections in Sinai's billiard", "Square of side 2 with a disc of radius 0.4. "
          "Errors grow about tenfold per disc.", GEOMETRY,
          {"L": 1.0, "r": 0.4, "x": -0.9, "y": -0.3, "u": 0.8, "w": 0.6, "until": 12.0}, {"event 8": 1e-8}),
    _case("stadium-billiard", "stadium", "Eight reflections in a stadium", "Caps of radius 1, straight sides 2a.", GEOMETRY,
          {"a": 1.0, "x": 0.2, "y": 0.1, "u": 0.6, "w": 0.8, "until": 20.0}, {"event 8": 1e-8}),
    _case("stadium-mean-time", "stadium_mean_time", "Mean time between collisions in a stadium", "pi A / P at speed 1 "
          "(Santalo), for starts spread evenly over the invariant measure.", "Chernov 1997, J. Stat. Phys. 88, 1.",
          {"a": 1.0, "n": 1024}, {"*": 5e-3}, second={"by": "Santalo's formula against the mean over many flights"}),
    _case("sinai-mean-time", "sinai_mean_time", "Mean time between collisions in Sinai's billiard", "pi A / P at speed 1; the "
          "disc belongs to the wall.", "Chernov 1997.", {"L": 1.0, "r": 0.4, "n": 1024}, {"*": 1e-2},
          second={"by": "Santalo's formula against the mean over many flights"}),
    _case("sliding-disc", "sliding_disc", "A disc that slides and spins stops both at once", "With uniform pressure the ratio "
          "v/(R w) goes to 0.653 whatever the start.", "Farkas, Bartels, Unger, Wolf 2003, Phys. Rev. Lett. 90, 248302.",
          {"mu": 0.3, "R": 0.1, "g": G, "v": 1.0, "w": 3.0, "until": 30.0}, {"*": 1e-9},
          second={"by": "the exact law of saltus (hypergeometric functions) against integrals about the instant centre"}),
]  # fmt: skip


def _paper(name, title, statement, source, topic, case, by):
    return {
        "id": name, "title": title, "statement": statement, "source": source, "input": {"topic": topic, "id": case},
        "expected": [], "second": {"by": by},
    }  # fmt: skip


PAPERS = [
    _paper("tinti-case-1b", "Two masses and a rod in a bowl", "Case 1b of the paper: a motion that no steady rotation "
           "stabilises.", "Tinti and Gallotti 2019", "sliding", "paper_case1b", "28 digits, another formulation"),
    _paper("tinti-case-2", "Masses and rods in a bowl", "Case 2 of the paper.", "Tinti and Gallotti 2019", "sliding",
           "paper_case2", "28 digits, another formulation"),
    _paper("vrbik-chain", "A link slides off a table", "One link, from the edge to free fall.", "Vrbik", "chain",
           "run-limit-n1-k0-X0-Y0.1", "quadrature"),
    _paper("kireenkov-terminal-ratio", "Ball on rails: terminal ratio of spin and slip", "Combined friction.",
           "Kireenkov 2021", "friction", "terminal_ratio-000", "root of the exact law"),
    _paper("kireenkov-lift-off", "Ball on a circular plate lifts off", "Butterfly robot on a circle.", "Kireenkov 2021",
           "friction", "lift_off_circle-000", "energy integral"),
    _paper("palffy-muhoray-first-contact", "Two smooth bodies meet", "First contact of free motions.",
           "Palffy-Muhoray, Virga, Wilkinson, Zheng 2017", "impact", "toi-00", "dense search with more digits"),
    _paper("palffy-muhoray-paradox", "The published paradox", "The impulse that would separate has the wrong sign.",
           "Palffy-Muhoray, Virga, Wilkinson, Zheng 2017", "impact", "par-published", "28 digits"),
]  # fmt: skip
