"""The report: self-contained, sortable, the same in HTML and Markdown; opened in a real browser where there is one."""

import dataclasses
import json
import re

import pytest
from tests.browser import opened, until
from tests.pages.made import JUMP, MADE

from saltus.errors import ScenarioError
from saltus.papers import report
from saltus.papers.catalogue import load, names
from saltus.papers.paper import Claim, Correction, Discovery, Drawing, Erratum, Paper, Picture, reproduce
from saltus.scenarios import entries
from saltus.views.pages import document


@pytest.fixture(scope="module")
def found():
    """A small paper, really reproduced, with a real figure."""
    from matplotlib.figure import Figure

    from saltus.papers.claim import Answer, Number, Statement

    def draw(work):
        figure = Figure(figsize=(3, 2))
        figure.subplots().plot([0, 1], [0, work])
        return figure

    paper = Paper(
        name="nobody-1900", title="On <nothing> & all", authors="N. Body", reference="Body 1900: J. Noth. 1, 1",
        about="About it.",
        workbench=lambda quick: 2.0,
        claims=(
            Claim("b", "Eq. 10", "the second", Number("4.0"), "how", lambda work: Answer(2 * work, "4")),
            Claim("a", "Eq. 9", "the first", Number("7.5"), "how", lambda work: Answer(2 * work, "4"), why="Misprint."),
            Claim("c", "text", "the third", Statement(), "how", lambda work: Answer(True, "so it is")),
            Claim("d", "text", "slow one", Statement(), "how", lambda work: Answer(True, ""), slow=True),
        ),
        drawings=(Drawing("one", "A line", "Caption.", draw), Drawing("two", "Another", "", draw, slow=True)),
        errata=(Erratum("Eq. 9", "x", "2x", "", lambda work: (0.5, 0.0)), Erratum("p. 1", "teh", "the")),
        discoveries=(Discovery("Something new", lambda work: Answer(1, "one"), "by looking"),),
    )  # fmt: skip
    return paper


def test_a_paper_is_reproduced_with_counts_and_a_line(found):
    told = []
    result = reproduce(found, progress=lambda share, what: told.append(share))
    assert [one.verdict for one in result.findings] == ["reproduced", "corrected", "qualitative", "qualitative"]
    assert result.line == "4 claims: 1 reproduced, 1 corrected, 2 qualitative; 2 errata, 2 figures."
    assert result.corrections[0].printed_error == 0.5 and result.corrections[1].printed_error is None
    assert all(picture.png.startswith(b"\x89PNG") and picture.svg for picture in result.pictures)
    assert told == sorted(told) and told[0] == 0.0 and told[-1] < 1.0


def test_quick_leaves_out_what_is_slow_and_says_how_much(found):
    result = reproduce(found, quick=True, vector=False)
    assert len(result.findings) == 3 and len(result.pictures) == 1 and result.left_out == 2
    assert result.pictures[0].svg is None


def test_the_page_needs_nothing_from_elsewhere_and_escapes_its_texts(found):
    page = report.page([reproduce(found)])
    assert not re.search(r'(src|href)="(?!data:|#)', page) and "http" not in page
    assert "On &lt;nothing&gt; &amp; all" in page and "<nothing>" not in page
    assert page.count("data:image/png;base64,") == 2


def test_no_text_of_a_paper_becomes_a_tag_or_leaves_its_attribute(found):
    import dataclasses

    evil = '"><script>alert(1)</script>'
    result = reproduce(found)
    texts = {name: evil for name in ("title", "authors", "reference", "about", "link")}
    findings = tuple(
        dataclasses.replace(one, where=evil, says=evil, printed=evil, found=evil, how=evil, source=evil, why=evil)
        for one in result.findings
    )
    pictures = tuple(dataclasses.replace(one, title=evil, caption=evil) for one in result.pictures)
    page = report.page(
        [dataclasses.replace(result, **texts, findings=findings, pictures=pictures, left_out_claims=(evil,))]
    )
    assert page.count("<script>") == 1 and "alert(1)</script>" not in page
    assert page.count('title="&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"') == len(findings)
    assert page.count('alt="&#34;&gt;') == len(pictures)


def test_markdown_and_figures_lie_beside_the_page(found, tmp_path):
    files = report.write([reproduce(found)], tmp_path / "new" / "folder")
    text = files["markdown"].read_text()
    for name in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (files["markdown"].parent / name).is_file()
    assert "| Eq. 9 | the first | 7.5 | 4 | corrected | Misprint. |" in text
    assert (files["figures"] / "nobody-1900-one.svg").is_file()


def test_a_table_of_markdown_keeps_its_columns():
    lines = report.table(("a", "b"), [("1 | 2", "3\n4")])
    assert lines == ["| a | b |", "|---|---|", "| 1 \\| 2 | 3 4 |"]


def test_a_folder_that_cannot_be_made_is_told_in_one_sentence(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(ScenarioError, match="there is a file of that name"):
        report.write([], tmp_path / "taken")


def test_errors_of_errata_are_short():
    one = Correction("Eq. 1", "x", "y", "", 0.0102475, 3e-15)
    assert report._errors(one) == "0.01 → 3.0×10⁻¹⁵"
    assert report._errors(Correction("Eq. 1", "x", "y", "", None, None)) == ""


def test_a_browser_shows_every_image_and_sorts_the_table(found, browser, tmp_path):
    files = report.write([reproduce(found)], tmp_path)
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(files["html"].as_uri())
    sizes = page.evaluate("[...document.images].map(image => image.complete ? image.naturalWidth : 0)")
    assert len(sizes) == 2 and min(sizes) > 100

    def column(index):
        return page.evaluate(
            f"[...document.querySelectorAll('table.claims tbody tr')].map(row => row.cells[{index}].textContent.trim())"
        )

    claims = column(1)
    page.click("table.claims th:nth-child(2) button")
    assert column(1) == sorted(claims)
    page.click("table.claims th:nth-child(2) button")
    assert column(1) == sorted(claims, reverse=True)
    page.click("table.claims th:nth-child(1) button")
    assert column(1) == claims  # in the order of the paper
    page.click(".tools button[data-verdict='corrected']")
    shown = page.evaluate("[...document.querySelectorAll('table.claims tbody tr')].filter(r => !r.hidden).length")
    assert shown == 1
    assert complaints == []


def test_a_phone_has_no_sideways_scrolling(found, browser, tmp_path):
    files = report.write([reproduce(found)], tmp_path)
    page = browser.new_page(viewport={"width": 380, "height": 800})
    page.goto(files["html"].as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_pictures_are_bytes_that_travel():
    import pickle

    picture = Picture("key", "title", "caption", b"png", None)
    assert pickle.loads(pickle.dumps(picture)) == picture


def test_a_figure_that_shows_a_motion_plays_it_in_its_place(found, browser, tmp_path):
    result = reproduce(found)
    moving = dataclasses.replace(result.pictures[0], motion=document(MADE["chain"]()))
    page = tmp_path / "report.html"
    page.write_text(report.page([dataclasses.replace(result, pictures=(moving, *result.pictures[1:]))]), "utf-8")
    assert "saltus reproduce nobody-1900 --claim a" in page.read_text("utf-8")
    with opened(browser, page.as_uri()) as shown:
        assert shown.locator("button.play").count() == 1
        shown.locator("button.play").click()
        until(shown, "document.querySelectorAll('iframe').length === 1")
        inner = shown.frames[1]
        inner.wait_for_selector(".timeline")
        inner.evaluate("player.clock.next()")
        assert inner.evaluate("player.clock.t") == JUMP
        shown.locator("button.play").click()
        assert shown.locator("iframe").count() == 0


@pytest.mark.parametrize("paper", names())
def test_every_motion_is_one_of_the_catalogue(paper):
    assert {one.play for one in load(paper).drawings if one.play} <= set(entries())


def test_one_claim_can_be_computed_alone(capsys):
    from saltus.cli import app

    assert app.call(["reproduce", "vrbik", "--claim", "lagrangian", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "reproduced"
    assert app.call(["reproduce", "vrbik", "--claim", "lagrangean"]) == 2
    assert "'lagrangian'" in capsys.readouterr().err
