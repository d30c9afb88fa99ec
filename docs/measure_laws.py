"""How far each law is from what it stands for: the numbers of the law catalogue, measured."""

import jax
import jax.numpy as jnp
import numpy as np

import saltus
from saltus.laws import friction, impact
from saltus.laws.impact.engagement import ENGAGEMENTS

saltus.configure()

PRESSURES = ("hertz", "uniform", "punch")
SPOT_LAWS = (friction.Pade, friction.FirstOrder, friction.SecondOrder, friction.PowerNorm, friction.EllipticCone)
EXACT = ("exact_functions", "exact_functions_other_exponent", "contact_dimensional", "contact_vector")
POINT = ("slip_to_roll_point_contact", "point_contact_events", "plane_point_contact")
RESTITUTION, MU, PAIRS = 0.7, 0.4, 2000


def measured(validated: list[dict]) -> dict[str, str]:
    """Cells of the tables by the name of the law; `validated` is the output of `saltus validate --json`."""

    def worst(*groups):
        return f"{max(row['worst_error'] for row in validated if row['group'] in groups):.0e}"

    cells = {"Combined": worst(*EXACT), "Coulomb": worst(*POINT), "jerk": worst("jerk")}
    return {**cells, **_spots(), "LimitSurface": _boundary(), **_impacts(worst("impulse")), **_jerks()}


def _spots() -> dict[str, str]:
    rows = {}
    for law in SPOT_LAWS:
        errors = [[one.error for one in friction.maximal_errors(law(1.0, 1.0, name)).values()] for name in PRESSURES]
        rows[law.__name__] = " | ".join(
            " / ".join(f"{error:.3f}" for error in one) for one in zip(*errors, strict=True)
        )
    return rows


def _boundary() -> str:
    rest = friction.LimitSurface(friction.Combined(0.3, 0.02))
    force, torque = rest.boundary(load=5.0)
    use = rest.use(jnp.stack([force, jnp.zeros_like(force)], -1), torque, jnp.full_like(force, 5.0))
    return f"{float(jnp.abs(use - 1.0).max()):.0e}"


def _impacts(elastic_error: str) -> dict[str, str]:
    """Random contacts: normal speeds, the closed form of a ball on a wall, and energies."""
    random = np.random.default_rng(1)
    velocity, part = random.normal(size=(PAIRS, 3)), random.normal(size=(PAIRS, 3, 3))
    velocity[:, 2] = -np.abs(velocity[:, 2])
    normal = jnp.array([0.0, 0.0, 1.0])
    mobility = jnp.asarray(part @ np.swapaxes(part, 1, 2) + 0.5 * np.eye(3))

    def after(law, mobility=mobility):
        impulse = jax.jit(jax.vmap(lambda w, m: law.impulse(w, normal, m)))(velocity, mobility)
        return velocity + np.einsum("kij,kj->ki", mobility, impulse)

    def created(law):
        """Change of the energy w . M^-1 w / 2 that an impulse can change."""
        energies = [np.einsum("ki,kij,kj->k", w, np.linalg.inv(mobility), w) for w in (velocity, after(law))]
        return f"{max(float(np.max(energies[1] / energies[0] - 1.0)), 0.0):.0e}"

    newton, rough = impact.Newton(RESTITUTION), impact.Stronge(RESTITUTION, MU)
    off = np.abs(after(newton)[:, 2] / velocity[:, 2] + RESTITUTION).max()
    ball = jnp.broadcast_to(jnp.diag(jnp.array([3.5, 3.5, 1.0])), (PAIRS, 3, 3))
    slip = np.linalg.norm(velocity[:, :2], axis=1)
    left = np.maximum(slip + 3.5 * MU * (1.0 + RESTITUTION) * velocity[:, 2], 0.0)
    rough_off = np.abs(np.linalg.norm(after(rough, ball)[:, :2], axis=1) - left).max()
    return {
        "Elastic": f"{elastic_error} from references | {created(impact.Elastic())}",
        "Newton": f"{off:.0e} of the normal speed | {created(newton)}",
        "Stronge": f"{rough_off:.0e} m/s of slip, ball on a wall | {created(rough)}",
    }


def _jerks() -> dict[str, str]:
    """Impulses and energies over a grid of angles, table masses and responses."""
    grid = np.meshgrid(np.linspace(-1.0, np.pi / 2, 27), [0.0, 0.5, 2.0, 10.0, 40.0], np.linspace(0.2, 1.0, 9))
    arguments = [jnp.asarray(one.ravel()) for one in grid]
    jumps = {name: jax.jit(jax.vmap(law()))(*arguments) for name, law in ENGAGEMENTS.items()}
    return {
        name: f"{float(jnp.abs(jump.impulse - jumps['limit'].impulse).max()):.2g} | "
        f"{max(0.0, float(-jump.loss.min())):.2g}"
        for name, jump in jumps.items()
    }
