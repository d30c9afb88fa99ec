"""Names that were public before go on working in code of users."""

import saltus as sl
from saltus import ensembles, scenarios, shapes, surfaces
from saltus.systems import bodies


def test_names_from_before_are_still_there():
    assert shapes.Supported is shapes.SupportShape
    assert surfaces.named is surfaces.named_surface
    assert bodies.filled is bodies.fill_box
    assert ensembles.Interrupted is ensembles.Interruption
    assert scenarios.Loaded is scenarios.LoadedScenario
    assert shapes.Body.moved is shapes.Body.with_motion and shapes.Body.kicked is shapes.Body.with_impulse
    assert sl.systems.Chain.held is sl.systems.Chain.hold
