"""Types of ground from polygons and rasters: friction, rolling friction and restitution differ from place to place."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from saltus.errors import ScenarioError
from saltus.scenarios import load
from saltus.systems.ground_body.mechanics import look

ROWS, COLUMNS = 8, 12
SCENARIO = """
kind = "ground_body"
surface = { type = "terrain", file = "slope.asc", crs = "local", origin = [100.0, 200.0] }
friction = { mu = 0.4, model = "coulomb", rolling_friction = 0.01 }
impact = { law = "soil", restitution = 0.5 }
[body]
shape = { axes = [0.3, 0.25, 0.2] }
density = 2700.0
position = [20.0, 20.0]
"""


def grid(name, values):
    rows = "\n".join(" ".join(f"{value:g}" for value in row) for row in values[::-1])
    head = f"ncols {values.shape[1]}\nnrows {values.shape[0]}\nxllcorner 97.5\nyllcorner 197.5\ncellsize 5"
    name.write_text(f"{head}\nNODATA_value -9999\n{rows}\n")


def laid(tmp_path, ground):
    grid(tmp_path / "slope.asc", np.tile(-0.5 * np.arange(COLUMNS), (ROWS, 1)))
    file = tmp_path / "stone.toml"
    file.write_text(SCENARIO + ground)
    return load(file).scenario


def numbers(built, x, y):
    """Friction, rolling friction and restitution that the body meets there."""
    system, start = built
    touch = look(system, start).touch
    touch = type(touch)(jnp.array([x, y]), *(getattr(touch, name) for name in list(touch.__dataclass_fields__)[1:]))
    impact = system.impact_at(touch)
    law = system.law_under(jnp.ones(()), touch)
    assert float(impact.mu) == float(law.mu)
    return [round(float(part), 12) for part in (law.mu, system.lever(touch), impact.restitution)]


def test_polygons_of_the_map_change_what_lies_in_them_and_the_later_one_lies_on_top(tmp_path):
    ring = [[100.0, 200.0], [120.5, 200.0], [120.5, 240.0], [100.0, 240.0], [100.0, 200.0]]
    area = {"type": "Polygon", "coordinates": [ring]}
    (tmp_path / "scree.geojson").write_text(json.dumps(area))
    built = laid(
        tmp_path,
        """
[[ground]]
polygon = "scree.geojson"
mu = 0.8
rolling_friction = 0.2
[[ground]]
polygon = [[-1.0, -1.0], [6.0, -1.0], [6.0, 40.0], [-1.0, 40.0]]
restitution = 0.1
""",
    ).build()
    assert numbers(built, 15.0, 20.0) == [0.8, 0.2, 0.5]
    assert numbers(built, 30.0, 20.0) == [0.4, 0.01, 0.5]
    assert numbers(built, 5.0, 10.0) == [0.4, 0.01, 0.1]
    assert numbers(built, 22.5, 20.0) == [0.6, 0.105, 0.5]  # halfway between two centres


def test_a_raster_tells_the_type_by_its_values(tmp_path):
    kinds = np.zeros((ROWS, COLUMNS))
    kinds[:, 6:], kinds[:2] = 3.0, 7.0
    grid(tmp_path / "types.asc", kinds)
    entry = '[[ground]]\nraster = "types.asc"\nvalue = {}\nmu = {}\n'
    ground = entry.format(3, 0.9) + entry.format([7, 8], 0.1)
    built = laid(tmp_path, ground).build()
    assert [numbers(built, x, y)[0] for x, y in ((10.0, 20.0), (40.0, 20.0), (40.0, 0.0))] == [0.4, 0.9, 0.1]


@pytest.mark.parametrize(
    ("ground", "words"),
    [
        ("[[ground]]\nmu = 0.4", "polygon.*raster"),
        ("[[ground]]\npolygon = [[0, 0], [1, 1]]", "3 corners"),
        ("[[ground]]\npolygon = [[0, 0], [0.1, 0], [0, 0.1]]\nvalue = 2", "raster"),
        ("[[ground]]\npolygon = [[900, 900], [901, 900], [900, 901]]\nmu = 0.2", "covers no pixel"),
        ('[[ground]]\npolygon = "none.geojson"\nmu = 0.2', "There is no ground polygon"),
    ],
)
def test_wrong_ground_is_refused_in_one_sentence(tmp_path, ground, words):
    with pytest.raises(ScenarioError, match=words):
        laid(tmp_path, ground).assemble()


def test_types_of_ground_need_a_map(tmp_path):
    text = SCENARIO.replace(
        '{ type = "terrain", file = "slope.asc", crs = "local", origin = [100.0, 200.0] }', '{ type = "plane" }'
    )
    file = tmp_path / "stone.toml"
    file.write_text(text + "[[ground]]\npolygon = [[0, 0], [1, 0], [0, 1]]\nmu = 0.2")
    with pytest.raises(ScenarioError, match="terrain"):
        load(file)
