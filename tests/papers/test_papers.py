"""The four papers: complete as data, and their cheap claims with the verdicts they have."""

import numpy as np
import pytest

from saltus.cli import app
from saltus.cli.reproduce import PAPER_NAMES
from saltus.errors import ScenarioError
from saltus.papers import catalogue
from saltus.papers.claim import judge

NAMES = catalogue.names()

# Claims that need no run: their verdicts are known from an independent derivation.
CHEAP = {
    "tinti-2019": {"1b speeds": "reproduced", "1b force formula": "reproduced", "1b period": "corrected",
                   "corner values": "corrected", "ex 1 limit": "reproduced", "ex 2 bottom": "corrected"},
    "vrbik": {"lagrangian": "reproduced", "matrix": "reproduced", "right side": "corrected", "turning": "corrected",
              "start of jerk": "reproduced", "lengthening": "reproduced"},
    "kireenkov-2021": {"normalisation": "reproduced", "integrals": "reproduced", "elementary": "qualitative",
                       "end values": "reproduced", "end slopes": "reproduced", "all properties": "corrected",
                       "second spot": "corrected", "rolling": "corrected", "coefficients": "not reproducible"},
    "palffy-muhoray-2017": {"on surfaces": "reproduced", "normal": "reproduced", "center": "reproduced",
                            "velocity": "reproduced", "conditions": "reproduced", "jerk": "qualitative",
                            "quartic": "corrected", "accelerations": "corrected"},
}  # fmt: skip


def test_the_command_line_knows_the_papers():
    assert NAMES == PAPER_NAMES


def test_an_unknown_paper_is_told_with_the_nearest_name():
    with pytest.raises(ScenarioError, match="Did you mean 'vrbik'"):
        catalogue.load("vrbick")


@pytest.mark.parametrize("name", NAMES)
def test_a_paper_is_complete_as_data(name):
    paper = catalogue.load(name)
    assert paper.name == name and paper.claims and paper.errata and paper.drawings
    for things in (paper.claims, paper.drawings):
        keys = [one.key for one in things]
        assert len(set(keys)) == len(keys)
    for claim in paper.claims:
        assert claim.where and claim.says and claim.how and str(claim.printed)
    # --quick must leave something of everything.
    assert any(not claim.slow for claim in paper.claims) and any(not one.slow for one in paper.drawings)


@pytest.mark.parametrize("name", NAMES)
def test_cheap_claims_have_their_verdicts(name):
    paper = catalogue.load(name)
    work = paper.workbench(True)
    claims = {claim.key: claim for claim in paper.claims}
    found = {key: judge(claims[key], work).verdict for key in CHEAP[name]}
    assert found == CHEAP[name]


def test_printed_and_corrected_forms_of_errata_differ_as_they_should():
    from saltus.papers.tinti_2019 import errata as tinti
    from saltus.papers.vrbik import errata as vrbik

    # The printed form is visibly wrong, the corrected one right to rounding.
    for printed, correct in (tinti.height(None), tinti.stretching(None), vrbik.sums(None), vrbik.turning(None)):
        assert printed > 0.05 and correct < 1e-11


def test_finite_forces_tend_to_the_limit_law():
    from saltus.papers.vrbik.cases import Workbench

    work = Workbench(quick=True)
    limit, printed = work.short("limit")[0], work.short("printed")[0]
    apart = np.array([abs(work.finite(force).exit_time - limit) for force in (1e2, 1e4)])
    # The distance falls about as 1/F (measured: a factor of 145 from 1e2 to 1e4); from the printed law it stays 0.028.
    assert apart[1] < apart[0] / 40 and apart[1] < 1e-5
    assert abs(work.finite(1e4).exit_time - printed) > 0.02


def test_a_shorter_chain_is_the_same_as_part_of_a_longer_one_without_mass():
    from saltus.papers.vrbik.cases import chain, slide

    own, part = chain(2, "limit", 2), chain(2, "limit", 3)
    exits = [slide(moving, moving.start(1e-2), 2, rtol=1e-11).exit_time for moving in (own, part)]
    assert exits[0] == pytest.approx(exits[1], abs=1e-9)


@pytest.mark.slow
def test_everything_is_reproduced_quickly_with_a_report(tmp_path, capsys):
    assert app.call(["reproduce", "--quick", "--out", str(tmp_path / "out")]) == 0
    assert "report.html" in capsys.readouterr().out
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(f'id="{name}"' in page for name in NAMES)


def test_an_unknown_paper_is_wrong_input_before_any_work(tmp_path, capsys):
    assert app.call(["reproduce", "tinti", "--out", str(tmp_path / "out")]) == 2
    assert "Did you mean" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
