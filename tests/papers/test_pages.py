"""Pages of the documentation are made from the papers' data and a stored reproduction."""

from pathlib import Path

import pytest

from saltus.papers import pages
from saltus.papers.catalogue import load, names

RESULTS = Path(__file__).parents[2] / "docs" / "papers" / "results.json"


@pytest.fixture(scope="module")
def found():
    return pages.read_findings(RESULTS)


@pytest.mark.parametrize("name", names())
def test_the_stored_verdicts_are_those_of_the_claims(name, found):
    """Made by `saltus reproduce --out DIR`; copy DIR/results.json to docs/papers when claims change."""
    paper = load(name)
    assert list(found[name]) == [claim.key for claim in paper.claims]
    for claim in paper.claims:
        assert found[name][claim.key]["printed"] == str(claim.printed)


@pytest.mark.parametrize("name", names())
def test_a_page_has_every_claim_and_erratum(name, found):
    paper = load(name)
    page = pages.page(paper, found[name])
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert len(rows) == len(paper.claims) + len(paper.errata) + 4
    assert all(row.replace("\\|", "").count("|") in (5, 7) for row in rows)


def test_the_overview_counts_verdicts(found):
    page = pages.overview(found)
    assert all(f"({name}.md)" in page for name in names())
