"""The benchmark numbers from closed forms, quadratures and exact geometry, with 40 digits (mpmath); no engine is used.

Each function has the name of a model and takes its input; it gives the expected numbers by name.
"""

from __future__ import annotations

from mpmath import (
    acos,
    acosh,
    atan,
    cos,
    ellipk,
    exp,
    findroot,
    log,
    mp,
    mpf,
    pi,
    quad,
    sin,
    sqrt,
)  # fmt: skip

mp.dps = 40


def numbers(given):
    """The input as exact decimal numbers as they are stored in double precision."""
    return {name: mpf(value) for name, value in given.items()}


# ---- impacts ------------------------------------------------------------------------------------


def bouncing_ball(p):
    t0 = sqrt(2 * p["h"] / p["g"])
    impact = lambda n: t0 * (1 + 2 * p["e"] * (1 - p["e"] ** (n - 1)) / (1 - p["e"]))
    return {"event 1": impact(1), "event 44": impact(44), "rest": t0 * (1 + p["e"]) / (1 - p["e"])}


def bouncing_ball_gradient(p):
    def height(e, g, h):
        t0, v0, left, v = sqrt(2 * h / g), sqrt(2 * g * h), p["until"], None
        left -= t0
        v = e * v0
        while left > 2 * v / g:
            left -= 2 * v / g
            v *= e
        return v * left - g * left**2 / 2

    at = (p["e"], p["g"], p["h"])
    slope = lambda k: mp.diff(height, at, tuple(int(i == k) for i in range(3)))
    return {f"d height / d {name}": slope(k) for k, name in enumerate("egh")}


def wall_ball(p):
    first = (p["L"] - p["x"]) / p["v"]
    impact = lambda n: first + sum(p["L"] / (p["v"] * p["e"] ** k) for k in range(1, n))
    n = 1
    while impact(n + 1) <= p["until"]:
        n += 1
    return {"event 1": first, "event 10": impact(10), "speed": p["v"] * p["e"] ** n}


def ceiling_ball(p):
    times, t, h, v = [], mpf(0), p["h"], p["v"]
    while len(times) < 12:
        up = v**2 - 2 * p["g"] * (p["L"] - h) if v > 0 else mpf(-1)
        if up > 0:
            t, h, v = t + (v - sqrt(up)) / p["g"], p["L"], -p["e"] * sqrt(up)
        else:
            down = sqrt(v**2 + 2 * p["g"] * h)
            t, h, v = t + (v + down) / p["g"], mpf(0), p["e"] * down
        times.append(t)
    return {f"event {n}": times[n - 1] for n in (1, 6, 12)}


def drag_ball(p):
    g, k, e = p["g"], p["k"], p["e"]
    fall = lambda h: (acosh(exp(k * h)) / sqrt(g * k), sqrt(g / k * (1 - exp(-2 * k * h))))
    t, v = fall(p["h"])
    found = {"event 1": t, "speed 1": v}
    for _ in range(2):
        u = e * v
        rise = log(1 + k * u**2 / g) / (2 * k)
        down, v = fall(rise)
        t += atan(u * sqrt(k / g)) / sqrt(g * k) + down
    return {**found, "event 3": t}


def slope_ball(p):
    gn, gt = p["g"] * cos(p["a"]), p["g"] * sin(p["a"])
    t0 = sqrt(2 * p["h"] / gn)
    t = t0 * (1 + 2 * p["e"] + 2 * p["e"] ** 2)
    return {"event 3": t, "place 3": gt * t**2 / 2}


def wedge(p):
    x, z, u, w, t, times = p["x"], p["z"], p["u"], p["w"], mpf(0), []
    tiny = mpf(10) ** -25
    while len(times) < 10:
        hits = []
        for side in (1, -1):
            # z + w s - g s^2 / 2 = side c (x + u s)
            a, b, c = -p["g"] / 2, w - side * p["c"] * u, z - side * p["c"] * x
            root = sqrt(b**2 - 4 * a * c) if b**2 >= 4 * a * c else None
            if root is not None:
                hits += [(s, side) for s in ((-b + root) / (2 * a), (-b - root) / (2 * a)) if s > tiny]
        s, side = min(hits)
        x, z, w, t = x + u * s, z + w * s - p["g"] * s**2 / 2, w - p["g"] * s, t + s
        size = sqrt(1 + p["c"] ** 2)
        nx, nz = -side * p["c"] / size, 1 / size
        closing = u * nx + w * nz
        u, w = u - 2 * closing * nx, w - 2 * closing * nz
        times.append(t)
    return {f"event {n}": times[n - 1] for n in (1, 5, 10)}


def beads_drop(p):
    t0 = sqrt(2 * p["h"] / p["g"])
    tau = p["until"] - t0
    height = p["e"] * p["g"] * t0 * tau - p["g"] * tau**2 / 2
    return {"events at once": mpf(10), "lowest": height, "highest": height}


def beads_line(p):
    hop = (p["D"] - p["d"]) / p["v"]
    return {"events": mpf(9), "event 9": 9 * hop, "last bead": 9 * p["D"] + p["v"] * (p["until"] - 9 * hop)}


def corner(p):
    back = 2 - p["v"] * p["until"]
    return {"events": mpf(2), "x": back, "y": back}


def rocking_block(p):
    """Times of the impacts by quadrature of the energy integral, w^2 / 2 + p^2 cos(a - q)."""
    a, w = p["a"], p["p"]

    def quarter(q):
        # The angle q (1 - s^2) takes the root singularity at the turning point away; differences of cosines as products.
        def integrand(s):
            d = q * s**2
            return 2 * q * s / sqrt(4 * w**2 * sin(a - q + d / 2) * sin(d / 2))

        return quad(integrand, [0, 1], method="gauss-legendre")

    drop = w**2 * (cos(a - p["q"]) - cos(a))
    impacts, rate = [quarter(p["q"])], -sqrt(2 * drop)
    for _ in range(3):
        drop *= p["r"] ** 2
        impacts.append(impacts[-1] + 2 * quarter(a - acos(cos(a) + drop / w**2)))
    return {"event 1": impacts[0], "rate 1": rate, "event 2": impacts[1], "event 4": impacts[3]}


def rocking_slender(p):
    a, w, r = p["a"], p["p"], p["r"]
    quarter = lambda q: acosh(1 / (1 - q / a)) / w
    top = lambda drop: a - sqrt(a**2 - 2 * drop / w**2)
    q, drop = p["q"], w**2 * (a**2 - (a - p["q"]) ** 2) / 2
    t = [quarter(q)]
    rate = -sqrt(2 * drop)
    for _ in range(3):
        drop *= r**2
        t.append(t[-1] + 2 * quarter(top(drop)))
    return {"event 1": t[0], "rate 1": rate, "event 2": t[1], "event 4": t[3]}


def impact_pendulum(p):
    w = sqrt(p["g"] / p["l"])
    quarter = lambda half: ellipk(half**2) / w  # half = sin(q / 2)
    half = sin(p["q"] / 2)
    times = [quarter(half)]
    for _ in range(5):
        half *= p["e"]  # 1 - cos q = 2 sin^2(q / 2) is the energy
        times.append(times[-1] + 2 * quarter(half))
    return {f"event {n}": times[n - 1] for n in (1, 2, 6)}


def ball_collision(p):
    total = (1 + p["e"]) * p["m"] * p["v"] * p["cos"] / 2
    return {
        "tangential impulse": min(p["mu"] * total, p["m"] * p["v"] * p["sin"] / 7),
        "separation": p["e"] * p["v"] * p["cos"],
    }


# ---- friction and switches ---------------------------------------------------------------------


def friction_oscillator(p):
    x, f, n = p["x"], p["f"], 0
    while abs(x) > f:
        x = -x + 2 * f * (1 if x > 0 else -1)
        n += 1
    return {"stop time": n * pi, "stop place": x}


def belt(p):
    more = p["fs"] - p["fd"]
    slip, stick = 2 * (pi - atan(more / p["b"])), 2 * more / p["b"]
    return {"slip": slip, "stick": stick, "period": slip + stick}


def weakening_belt(p):
    """Slip by Taylor series of order 40, steps of 1/20; the stick is exact."""

    def series(x, v):
        xs, vs, us, ws = [x], [v], [], []
        for k in range(40):
            ws.append((1 + p["d"] * p["b"] if k == 0 else 0) - p["d"] * vs[k])
            us.append(((p["fs"] if k == 0 else 0) - sum(ws[j] * us[k - j] for j in range(1, k + 1))) / ws[0])
            xs.append(vs[k] / (k + 1))
            vs.append((us[k] - xs[k]) / (k + 1))
        return xs, vs

    def at(terms, s):
        return mp.polyval(terms[::-1], s)

    t, x, v, h = mpf(0), p["fs"], p["b"], mpf(1) / 20
    while True:
        xs, vs = series(x, v)
        if t > 1 and at(vs, h) >= p["b"]:
            break
        t, x, v = t + h, at(xs, h), at(vs, h)
    s = findroot(lambda s: at(vs, s) - p["b"], (mpf(0), h), solver="anderson")
    slip, place = t + s, at(xs, s)
    stick = (p["fs"] - place) / p["b"]
    return {"slip": slip, "stick": stick, "period": slip + stick}


def incline_stop(p):
    slow = p["g"] * (p["mu"] * cos(p["a"]) - sin(p["a"]))
    return {"stop time": p["v"] / slow, "stop place": p["v"] ** 2 / (2 * slow)}


def slide_to_roll(p):
    t = 2 * (p["v"] - p["w"]) / (7 * p["mu"] * p["g"])
    v = p["v"] - p["mu"] * p["g"] * t
    x = p["v"] * t - p["mu"] * p["g"] * t**2 / 2 + v * (p["until"] - t)
    return {"event 1": t, "speed": v, "place": x}


def across_incline(p):
    # With mu = tan(slope) the speed plus its downhill part stays: v (1 + cos psi) = c.
    c = p["v"] * (1 + cos(p["first"]))
    down = p["g"] * sin(p["a"])
    t = quad(lambda psi: c / (1 + cos(psi)) / (down * sin(psi)), [p["psi"], p["first"]])
    return {"event 1": t, "speed 1": c / (1 + cos(p["psi"]))}


def thermostat(p):
    heat = log((p["hot"] - p["low"]) / (p["hot"] - p["high"]))
    cool = log((p["high"] - p["cold"]) / (p["low"] - p["cold"]))
    return {"event 1": heat, "event 2": heat + cool, "event 11": 6 * heat + 5 * cool}


def relay(p):
    quarter = sqrt(2 * p["x"] / p["a"])
    return {"event 1": quarter, "event 2": 3 * quarter, "event 9": 17 * quarter}


def water_tanks(p):
    x, t, times, first = [p["x1"], p["x2"]], mpf(0), [], True
    while len(times) < 8:
        filled, other = (0, 1) if first else (1, 0)
        out = (p["v1"], p["v2"])
        s = x[other] / out[other]
        x[filled] += (p["w"] - out[filled]) * s
        x[other] = mpf(0)
        t, first = t + s, not first
        times.append(t)
    return {"event 1": times[0], "event 8": times[7], "rest": (p["x1"] + p["x2"]) / (p["v1"] + p["v2"] - p["w"])}


# ---- oscillators --------------------------------------------------------------------------------


def impact_oscillator(p):
    """Between impacts x = a cos s + b sin s + B cos(w t); the impacts are the first roots of x = wall."""
    B = p["F"] / (1 - p["w"] ** 2)
    t, x, v, times = mpf(0), p["x"], p["v"], []
    while len(times) < 8:
        a, b = x - B * cos(p["w"] * t), v + B * p["w"] * sin(p["w"] * t)
        place = lambda s: a * cos(s) + b * sin(s) + B * cos(p["w"] * (t + s)) - p["s"]
        s, step = mpf(10) ** -6, mpf(1) / 200
        while not (place(s) < 0 and place(s + step) >= 0):
            s += step
        root = findroot(place, (s, s + step), solver="anderson")
        v = -a * sin(root) + b * cos(root) - B * p["w"] * sin(p["w"] * (t + root))
        x, v, t = p["s"], -p["e"] * v, t + root
        times.append(t)
    return {f"event {n}": times[n - 1] for n in (1, 3, 8)}


def grazing(p):
    if p["d"] < 0:
        return {"impacts": mpf(0)}
    return {"impacts": mpf(1), "event 1": (2 * pi - acos(1 - p["d"])) / p["w"]}


def bilinear(p):
    half1, half2 = pi / sqrt(p["k1"]), pi / sqrt(p["k2"])
    return {"event 1": half1 / 2, "event 2": half1 / 2 + half2, "event 11": half1 / 2 + 5 * (half1 + half2)}


def shaken_table(p):
    period = 2 * pi / p["w"]
    speed = p["g"] * period * (1 - p["e"]) / (2 * (1 + p["e"]))  # of the table at the impact
    return {"phase": acos(speed / (p["A"] * p["w"])), "flight": period}


def lift_off(p):
    lifts = mp.asin(p["g"] / (p["A"] * p["w"] ** 2)) / p["w"]
    h, v = p["A"] * sin(p["w"] * lifts), p["A"] * p["w"] * cos(p["w"] * lifts)
    gap = lambda s: h + v * s - p["g"] * s**2 / 2 - p["A"] * sin(p["w"] * (lifts + s))
    s, step = mpf(1) / 50 / p["w"], mpf(1) / 100 / p["w"]
    while not (gap(s) > 0 and gap(s + step) <= 0):
        s += step
    s = findroot(gap, (s, s + step), solver="anderson")
    closing = p["A"] * p["w"] * cos(p["w"] * (lifts + s)) - (v - p["g"] * s)
    return {"lifts": lifts, "lands": lifts + s, "closing speed": closing}


def narrow_dip(p):
    return {"events": mpf(1), "event 1": p["c"] - p["half"]}


def spherical_pendulum(p):
    """In u = cos q: u'^2 = 2 (E + g u / l) (1 - u^2) - L^2, a cubic; from one turning point to the other and back."""
    k, c = p["g"] / p["l"], cos(p["q"])
    L, E = sin(p["q"]) ** 2 * p["w"], sin(p["q"]) ** 2 * p["w"] ** 2 / 2 - k * c
    # One root is the start; the others solve 2k u^2 + (2E + 2kc) u + (2E + 2kc) c - 2k = 0.
    b = E / k + c
    others = [(-b + sign * sqrt(b**2 - 4 * (b * c - 1))) / 2 for sign in (1, -1)]
    roots = sorted([c, *others])
    low, high = roots[1], roots[2]
    # u = middle - half cos(s) takes both root singularities away.
    middle, half, third = (low + high) / 2, (high - low) / 2, roots[0]
    speed = lambda s: sqrt(2 * k * (middle - half * cos(s) - third))
    period = 2 * quad(lambda s: 1 / speed(s), [0, pi / 2, pi])
    turn = 2 * quad(lambda s: L / (1 - (middle - half * cos(s)) ** 2) / speed(s), [0, pi / 2, pi])
    return {"period": period, "turn": turn}


def dome(p):
    k, mu, q0 = p["g"] / p["R"], p["mu"], p["q"]
    # u = w^2: du/dq = 2 k (sin q - mu cos q) + 2 mu u, solved by a sum of cos q, sin q and exp(2 mu q).
    n = 1 + 4 * mu**2
    own = lambda q: 2 * k * ((2 * mu**2 - 1) * cos(q) - 3 * mu * sin(q)) / n
    u = lambda q: own(q) + (p["w"] ** 2 - own(q0)) * exp(2 * mu * (q - q0))
    angle = findroot(lambda q: k * cos(q) - u(q), (q0 + mpf(1) / 10, mpf(13) / 10), solver="anderson")
    t = quad(lambda q: 1 / sqrt(u(q)), [q0, (q0 + angle) / 2, angle])
    return {"event 1": t, "angle": angle}


def cycloid(p):
    return {"event 1": pi * sqrt(p["R"] / p["g"])}


# ---- billiards -----------------------------------------------------------------------------------


def _walk(p, hits, count=8):
    """Times of reflections; `hits(x, y, u, w)`: all times to walls, each with the normal there."""
    x, y, u, w, t, times = p["x"], p["y"], p["u"], p["w"], mpf(0), []
    while len(times) < count:
        s, normal = min(((s, n) for s, n in hits(x, y, u, w) if s > mpf(10) ** -25), key=lambda hit: hit[0])
        x, y, t = x + u * s, y + w * s, t + s
        nx, ny = normal(x, y)
        closing = u * nx + w * ny
        u, w = u - 2 * closing * nx, w - 2 * closing * ny
        times.append(t)
    return {f"event {n}": times[n - 1] for n in (1, 4, 8)}


def _circle(x, y, u, w, cx, cy, r):
    """Times at which a straight flight meets a circle."""
    dx, dy = x - cx, y - cy
    a, b, c = u**2 + w**2, dx * u + dy * w, dx**2 + dy**2 - r**2
    root = b**2 - a * c
    return [] if root <= 0 else [(-b - sqrt(root)) / a, (-b + sqrt(root)) / a]


def sinai(p):
    L, r = p["L"], p["r"]

    def hits(x, y, u, w):
        found = [((side * L - x) / u, lambda x, y: (1, 0)) for side in (1, -1) if u != 0]
        found += [((side * L - y) / w, lambda x, y: (0, 1)) for side in (1, -1) if w != 0]
        return found + [(s, lambda x, y: (x / r, y / r)) for s in _circle(x, y, u, w, 0, 0, r)[:1]]

    return _walk(p, hits)


def stadium(p):
    a = p["a"]

    def hits(x, y, u, w):
        found = []
        for side in (1, -1):
            if w != 0:
                s = (side - y) / w
                if abs(x + u * s) <= a:
                    found.append((s, lambda x, y: (0, 1)))
            for s in _circle(x, y, u, w, side * a, 0, 1):
                if side * (x + u * s) > a:
                    found.append((s, lambda x, y, side=side: (x - side * a, y)))
        return found

    return _walk(p, hits)


def stadium_mean_time(p):
    return {"mean time": pi * (4 * p["a"] + pi) / (4 * p["a"] + 2 * pi)}


def sinai_mean_time(p):
    return {"mean time": pi * (4 * p["L"] ** 2 - pi * p["r"] ** 2) / (8 * p["L"] + 2 * pi * p["r"])}


def sliding_disc(p):
    """The ratio e = v / (R w) that stays: force = 2 e torque, with the integrals of uniform pressure.

    In polar coordinates about the instant centre of rotation, at the distance e R from the middle, every point moves
    across its radius; the rim is at r = e cos a + sqrt(1 - e^2 sin^2 a).
    """

    def rim(e, a):
        return e * cos(a) + sqrt(1 - e**2 * sin(a) ** 2)

    def force(e):
        return quad(lambda a: cos(a) * rim(e, a) ** 2 / 2, [0, pi / 2, pi]) * 2 / pi

    def torque(e):
        return quad(lambda a: rim(e, a) ** 3 / 3 - e * cos(a) * rim(e, a) ** 2 / 2, [0, pi / 2, pi]) * 2 / pi

    with mp.workdps(25):
        ratio = findroot(lambda e: force(e) - 2 * e * torque(e), (mpf("0.6"), mpf("0.7")), solver="anderson")
    return {"ratio": ratio}


def woodpecker(p):
    """Sines and cosines in each stage; the instants are arcs."""
    inertia, share = p["I"] + p["m2"] * p["b"] ** 2, p["m2"] / (p["m1"] + p["m2"])
    reduced = p["I"] + p["m2"] * p["b"] ** 2 * (1 - share)
    rest, w1, w2 = p["m2"] * p["b"] * p["g"] / p["c"], sqrt(p["c"] / inertia), sqrt(p["c"] / reduced)

    def leave(q, v):
        """Time and rate at which the jammed bird comes back to the angle a."""
        size, phase = sqrt((q - rest) ** 2 + (v / w1) ** 2), mp.atan2(-v / w1, q - rest)
        t = (acos((p["a"] - rest) / size) - phase) / w1
        return t, -w1 * size * sin(w1 * t + phase)

    def swing(q, v, to, rising):
        """Time and rate at which the falling bird reaches an angle."""
        size, phase = sqrt(q**2 + (v / w2) ** 2), mp.atan2(-v / w2, q)
        arc = acos(to / size)
        target = -arc if rising else arc
        t = (target - phase) / w2
        while t <= mpf(10) ** -20:
            t += 2 * pi / w2
        return t, -w2 * size * sin(w2 * t + phase)

    q, v = p["q"], mpf(0)
    loose, v = leave(q, v)
    t1, v1 = swing(p["a"], v, -p["a"], False)
    # Along the pole z' + share b q' = start + g t.
    z1 = p["g"] * t1 - share * p["b"] * (v1 - v)
    way = p["g"] * t1**2 / 2 + share * p["b"] * v * t1 - share * p["b"] * (-2 * p["a"])
    z2, v2 = z1 + share * p["b"] * (1 + p["d"]) * v1, -p["d"] * v1
    t2, v3 = swing(-p["a"], v2, p["a"], True)
    z3 = z2 + p["g"] * t2 - share * p["b"] * (v3 - v2)
    way += z2 * t2 + p["g"] * t2**2 / 2 + share * p["b"] * v2 * t2 - share * p["b"] * 2 * p["a"]
    v4 = v3 + p["m2"] * p["b"] * z3 / inertia
    t3, _ = leave(p["a"], v4)
    return {
        "loose": loose,
        "pecks": loose + t1,
        "jams": loose + t1 + t2,
        "second loose": loose + t1 + t2 + t3,
        "fall": way,
    }
