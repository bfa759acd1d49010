"""The charts of a finished job against the API: values, interaction, export."""

import csv
import math
import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, StorageState, expect

from reinforge.client import Reinforge
from reinforge.platform.up import Platform
from reinforge.schemas.jobs import Series
from tests.e2e.browser import visit
from tests.e2e.conftest import Demo

LAST = 60
BIG = ("Reward", "Entropy", "Completion length")


@pytest.fixture(scope="module")
def job(demo: Demo) -> str:
    return str(demo.summary["job_id"])


@pytest.fixture(scope="module")
def series(client: Reinforge, job: str) -> dict[str, Series]:
    return {one.key: one for one in client.jobs.metrics(job).series}


def points(one: Series) -> dict[int, float | None]:
    return dict(zip(one.steps, one.values, strict=True))


def percent(share: float | None) -> str:
    """A share as the page writes it, never rounded into none or all."""
    assert share is not None
    value = 100 * share
    text = "<1" if 0 < value < 1 else ">99" if 99 < value < 100 else str(math.floor(value + 0.5))
    return f"{text}%"


def two(value: float | None) -> str:
    """Two decimals as the page writes them: a half goes up."""
    assert value is not None
    return str(Decimal(value).quantize(Decimal("0.01"), ROUND_HALF_UP))


def chart(page: Page, title: str) -> Locator:
    return page.get_by_role("figure").filter(has=page.get_by_role("heading", name=title, exact=True))


def over(page: Page, title: str) -> Locator:
    """The part of a chart's plot that points lie in."""
    surface = chart(page, title).locator(".u-over")
    expect(surface).to_be_visible()
    return surface


def place(surface: Locator, step: float, first: int = 0, last: int = LAST) -> tuple[float, float]:
    """Where on the screen a step is, at half height, while `first` to `last` are visible."""
    box = surface.bounding_box()
    assert box is not None
    return box["x"] + box["width"] * (step - first) / (last - first), box["y"] + box["height"] / 2


def drag(page: Page, title: str, start: float, end: float, first: int = 0, last: int = LAST) -> None:
    """From just inside one step to just inside another: ranges are whole steps around what was dragged over."""
    surface = over(page, title)
    start, end = start + 0.3, end - 0.3
    page.mouse.move(*place(surface, start, first, last))
    page.mouse.down()
    page.mouse.move(*place(surface, (start + end) / 2, first, last))
    page.mouse.move(*place(surface, end, first, last))
    page.mouse.up()


def table_of(figure: Locator) -> list[dict[str, str]]:
    """The numbers of a chart that shows its table, newest step first."""
    heads = figure.get_by_role("columnheader").all_inner_texts()
    cells = figure.locator("tbody tr").evaluate_all(
        "rows => rows.map(r => [...r.cells].map(c => c.innerText))"
    )
    return [dict(zip(heads, row, strict=True)) for row in cells]


def download(page: Page, title: str, kind: str, to: Path) -> Path:
    chart(page, title).get_by_role("button", name=f"More for {title}").click()
    with page.expect_download() as coming:
        page.get_by_role("menuitem", name=f"Download as {kind}").click()
    path = to / coming.value.suggested_filename
    coming.value.save_as(path)
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf8") as file:
        return list(csv.DictReader(file))


def test_charts_draw_where_the_browser_s_language_is_none(page: Page, job: str) -> None:
    """Under a POSIX locale Chromium calls it `en-US@posix`, which `Intl` refuses."""
    page.add_init_script(
        "Object.defineProperty(Navigator.prototype, 'language', {get: () => 'en-US@posix', configurable: true})"
    )
    page.goto(f"/jobs/{job}")
    over(page, "Reward")


def test_every_chart_has_a_title_a_unit_a_sentence_and_its_numbers(page: Page, job: str) -> None:
    page.goto(f"/jobs/{job}?quiet=true")
    expect(page.get_by_role("heading", name="Held-out length")).to_be_attached()
    expect(chart(page, "Skipped updates")).to_be_attached()
    figures = page.get_by_role("figure").all()
    assert len(figures) >= 20
    for figure in figures:
        title = figure.get_by_role("heading").inner_text()
        assert title
        assert figure.locator("figcaption > span").inner_text(), f"{title} has no unit"
        sentence = figure.locator("p").last.inner_text()
        assert re.fullmatch(r"\S.+\.", sentence), f"{title}: {sentence}"
        figure.get_by_role("button", name=f"{title} as a table").click()
        expect(figure.get_by_role("row").nth(1)).to_be_visible()
        assert figure.get_by_role("table", name=title).count() == 1
        assert any(re.search(r"\d", value) for row in table_of(figure) for value in list(row.values())[1:]), (
            title
        )


def test_help_of_tiles_and_charts_is_reached_by_keyboard_and_touch(
    browser: Browser, owner: StorageState, platform: Platform, page: Page, job: str
) -> None:
    page.goto(f"/jobs/{job}?quiet=true")
    expect(chart(page, "Skipped updates")).to_be_attached()
    for figure in page.get_by_role("figure").all():
        title = figure.get_by_role("heading").inner_text()
        expect(figure.get_by_role("button", name=f"About {title}", exact=True)).to_have_count(1)
    tiles = page.locator("dl").get_by_role("button", name=re.compile("^About "))
    expect(tiles).to_have_count(6)
    tiles.first.focus()
    page.keyboard.press("Tab")
    expect(tiles.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    link = page.get_by_role("dialog", name="About Train reward").get_by_role("link")
    expect(link).to_be_focused()
    expect(link).to_have_attribute("href", re.compile("^/guide/job-file#metric-reward-mean$"))
    page.keyboard.press("Escape")
    expect(link).to_have_count(0)
    expect(tiles.nth(1)).to_be_focused()
    with visit(browser, width=390, height=844, base_url=platform.url, state=owner, touch=True) as phone:
        phone.goto(f"/jobs/{job}")
        for mark in (phone.locator("dl"), chart(phone, "Entropy")):
            mark.get_by_role("button", name="About Entropy").tap()
            link = phone.get_by_role("dialog", name="About Entropy").get_by_role("link")
            expect(link).to_be_in_viewport()
            phone.get_by_role("heading", level=1).tap()
            expect(link).to_have_count(0)


def test_the_table_of_a_chart_is_what_was_measured(page: Page, job: str, series: dict[str, Series]) -> None:
    page.goto(f"/jobs/{job}")
    figure = chart(page, "Completion length")
    figure.get_by_role("button", name="Completion length as a table").click()
    expect(figure.locator("tbody tr")).to_have_count(LAST)
    rows = {int(row["step"]): row for row in table_of(figure)}
    for column, key in (("mean", "completions/length_mean"), ("p90", "completions/length_p90")):
        measured = points(series[key])
        assert sorted(rows) == sorted(measured)
        for step, value in measured.items():
            assert float(rows[step][column]) == pytest.approx(value, rel=0.006), f"{column} at step {step}"


def test_dragging_across_a_chart_zooms_them_all_and_back_restores(page: Page, job: str) -> None:
    page.goto(f"/jobs/{job}")
    drag(page, "Reward", 15, 40)
    expect(page).to_have_url(re.compile(r"[?&]zoom=15-40\b"))
    for title in (*BIG, "Reward spread", "Memory"):
        expect(chart(page, title).locator("p").last).to_have_text(
            re.compile("^(.+: )?steps 15–40: ", re.IGNORECASE)
        )
    plot = chart(page, "Entropy").get_by_role("group", name=re.compile("^Entropy"))
    for key, step in (("Home", 15), ("End", 40)):
        plot.press(key)
        expect(chart(page, "Entropy").locator("figcaption")).to_contain_text(f"step {step}")
    drag(page, "Completion length", 20, 30, 15, 40)
    expect(page).to_have_url(re.compile(r"[?&]zoom=20-30\b"))
    page.reload()
    expect(chart(page, "Entropy").locator("p").last).to_have_text(
        re.compile("^(.+: )?steps 20–30: ", re.IGNORECASE)
    )
    # What stands above the charts moves them when it arrives: a click between the two would be lost.
    expect(page.get_by_role("region", name="Is it training?")).to_contain_text("No problems found")
    page.get_by_role("button", name="All steps").click()
    expect(page).not_to_have_url(re.compile("zoom="))
    drag(page, "Reward", 15, 40)
    drag(page, "Reward", 20, 30, 15, 40)
    expect(page).to_have_url(re.compile(r"[?&]zoom=20-30\b"))
    page.get_by_role("toolbar", name="Curves").get_by_role("button", name="Back").click()
    expect(page).to_have_url(re.compile(r"[?&]zoom=15-40\b"))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("zoom="))
    expect(chart(page, "Entropy").locator("p").last).not_to_contain_text("Steps")


def test_smoothing_keeps_the_measured_line_as_a_ghost(
    page: Page, job: str, series: dict[str, Series]
) -> None:
    page.goto(f"/jobs/{job}")
    expect(over(page, "Entropy")).to_be_visible()
    slider = page.get_by_role("slider", name="Smoothing")
    slider.press("End")
    expect(page).to_have_url(re.compile(r"[?&]smooth=0\.99\b"))
    page.reload()
    figure = chart(page, "Entropy")
    figure.get_by_role("button", name="Entropy as a table").click()
    expect(figure.locator("tbody tr")).to_have_count(LAST)
    rows = {int(row["step"]): row for row in table_of(figure)}
    total = weight = 0.0
    for step, value in points(series["entropy/mean"]).items():
        assert value is not None
        total, weight = total * 0.99 + value, weight * 0.99 + 1
        assert float(rows[step]["mean"]) == pytest.approx(value, rel=0.006)
        assert float(rows[step]["mean, smoothed"]) == pytest.approx(total / weight, rel=0.006)
    slider.press("Home")
    expect(page).not_to_have_url(re.compile("smooth="))
    expect(figure.get_by_role("columnheader", name="mean, smoothed")).to_have_count(0)


def test_a_logarithmic_axis_for_all_charts_or_for_one(page: Page, job: str) -> None:
    page.goto(f"/jobs/{job}")
    page.get_by_role("switch", name="Log").click()
    expect(page).to_have_url(re.compile(r"[?&]log=all\b"))
    page.reload()
    for title in BIG:
        expect(chart(page, title).locator("figcaption")).to_contain_text(", log")
    # A share that is often 0 says what such an axis leaves out.
    expect(chart(page, "Truncated").locator("p").last).to_contain_text("not shown on the log axis")
    page.keyboard.press("l")
    expect(page).not_to_have_url(re.compile("log="))
    chart(page, "Entropy").get_by_role("button", name="More for Entropy").click()
    page.get_by_role("menuitem", name="Log axis").click()
    expect(page).to_have_url(re.compile(r"[?&]log=entropy\b"))
    expect(chart(page, "Entropy").locator("figcaption")).to_contain_text(", log")
    expect(chart(page, "Reward").locator("figcaption")).not_to_contain_text("log")


def test_curves_over_time_and_tokens(
    page: Page, job: str, series: dict[str, Series], tmp_path: Path, client: Reinforge
) -> None:
    page.goto(f"/jobs/{job}")
    axes = page.get_by_role("radiogroup", name="Curves over")
    axes.get_by_text("Tokens").click()
    expect(page).to_have_url(re.compile(r"[?&]x=tokens\b"))
    rows = rows_of(download(page, "Entropy", "CSV", tmp_path))
    trained = points(series["tokens/trained"])
    assert {int(row["step"]): float(row["tokens"]) for row in rows} == trained
    axes.get_by_text("Time").click()
    expect(page).to_have_url(re.compile(r"[?&]x=time\b"))
    page.reload()
    begin = client.jobs.get(job).started_at
    assert begin is not None
    entropy = series["entropy/mean"]
    seconds = [float(row["seconds"]) for row in rows_of(download(page, "Entropy", "CSV", tmp_path))]
    assert seconds == pytest.approx([ts - begin.timestamp() for ts in entropy.ts], abs=0.01)
    figure = chart(page, "Entropy")
    figure.get_by_role("group", name=re.compile("^Entropy")).press("Home")
    expect(figure.locator("figcaption")).to_contain_text(re.compile(r"\d+\ss · step 1$"))


def test_the_keyboard_cursor_outlives_its_plot(page: Page, job: str) -> None:
    """A plot is made anew at another size; a key that came before it was made counts, too."""
    page.goto(f"/jobs/{job}")
    figure = chart(page, "Entropy")
    figure.get_by_role("group", name=re.compile("^Entropy")).press("Home")
    expect(figure.locator("figcaption")).to_contain_text("step 1")
    canvas = figure.locator("canvas")
    before = canvas.get_attribute("width")
    assert before
    page.set_viewport_size({"width": 1000, "height": 900})
    expect(canvas).not_to_have_attribute("width", before)
    expect(figure.locator("figcaption")).to_contain_text("step 1")
    expect(figure.locator(".u-cursor-x")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(figure.locator("figcaption")).to_contain_text("step 2")


def test_the_keyboard_cursor_says_the_values(page: Page, job: str, series: dict[str, Series]) -> None:
    page.goto(f"/jobs/{job}")
    figure = chart(page, "Reward")
    plot = figure.get_by_role("group", name=re.compile("^Reward"))
    expect(plot).to_be_visible()
    live_text = figure.locator("[aria-live=polite]")
    mean, uniform = points(series["reward/mean"]), points(series["groups/zero_variance_share"])
    held = points(series["held_out/reward_mean"])
    plot.press("Home")
    expect(live_text).to_have_text(f"step 0: held-out {two(held[0])}")
    for _ in range(10):
        plot.press("ArrowRight")
    expect(live_text).to_have_text(
        f"step 10: mixed groups {percent(1 - uniform[10])}, train mean {two(mean[10])}, held-out {two(held[10])}"
    )
    # The crosshair is the same step in every chart, and Enter reads its completions.
    expect(chart(page, "Entropy").locator("figcaption")).to_contain_text("step 10")
    plot.press("Enter")
    expect(page).to_have_url(re.compile(r"(?=.*tab=completions)(?=.*step=10\b)"))


def test_the_crosshair_is_shared(page: Page, job: str, series: dict[str, Series]) -> None:
    page.goto(f"/jobs/{job}")
    page.mouse.move(*place(over(page, "Completion length"), 33))
    for title in (*BIG, "Reward spread"):
        expect(chart(page, title).locator("figcaption")).to_contain_text("step 33")
    value = points(series["reward/mean"])[33]
    legend = chart(page, "Reward").get_by_role("button", name="train mean")
    expect(legend).to_contain_text(f"{two(value)}")


def test_a_chart_leaves_as_csv_with_every_point(
    page: Page, job: str, series: dict[str, Series], tmp_path: Path
) -> None:
    page.goto(f"/jobs/{job}")
    path = download(page, "Reward", "CSV", tmp_path)
    assert path.name.endswith("-reward.csv")
    rows = {int(row["step"]): row for row in rows_of(path)}
    columns = {"train mean": "reward/mean", "mixed groups low": "groups/all_right_share"}
    for column, key in (columns | {"held-out": "held_out/reward_mean"}).items():
        assert {step: float(row[column]) for step, row in rows.items() if row[column]} == points(series[key])


def test_a_chart_leaves_as_a_picture(page: Page, job: str, tmp_path: Path) -> None:
    page.goto(f"/jobs/{job}")
    surface = over(page, "Reward").bounding_box()
    assert surface is not None
    content = download(page, "Reward", "PNG", tmp_path).read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    assert width > surface["width"] and height > surface["height"]
    # An empty picture of this size has about 2 kB.
    assert len(content) > 8_000


def test_lines_are_switched_off_in_the_legend(page: Page, job: str, tmp_path: Path) -> None:
    page.goto(f"/jobs/{job}")
    canvas = chart(page, "Reward").locator("canvas")
    expect(over(page, "Reward")).to_be_visible()
    before = canvas.evaluate("canvas => canvas.toDataURL()")
    name = chart(page, "Reward").get_by_role("button", name="train mean")
    expect(name).to_have_attribute("aria-pressed", "true")
    name.click()
    expect(name).to_have_attribute("aria-pressed", "false")
    page.wait_for_function(
        "([canvas, before]) => canvas.toDataURL() !== before", arg=[canvas.element_handle(), before]
    )
    assert set(rows_of(download(page, "Reward", "CSV", tmp_path))[0]) == {
        "step", "mixed groups high", "mixed groups low", "held-out",
    }  # fmt: skip


def test_the_filter_of_charts_stands_in_the_address(page: Page, job: str) -> None:
    page.goto(f"/jobs/{job}")
    field = page.get_by_role("searchbox", name=re.compile("^Filter charts"))
    field.fill("throughput")
    expect(page).to_have_url(re.compile(r"[?&]metrics=throughput\b"))
    page.reload()
    expect(page.get_by_role("figure").get_by_role("heading")).to_have_text(["Throughput", "Token throughput"])
    field.fill("^(entropy|reward)\\b")
    expect(page.get_by_role("figure").get_by_role("heading").first).to_have_text("Reward")
    expect(chart(page, "Throughput")).to_have_count(0)
    field.fill("no such metric")
    expect(page.get_by_text("No chart has “no such metric”")).to_be_visible()
    field.fill("")
    expect(chart(page, "Memory")).to_be_visible()


def test_only_charts_in_view_are_drawn(page: Page, job: str) -> None:
    page.set_viewport_size({"width": 1440, "height": 700})
    page.goto(f"/jobs/{job}")
    expect(over(page, "Reward")).to_be_visible()
    last = chart(page, "Held-out length")
    expect(last.locator("p").last).to_be_attached()
    expect(last.locator("canvas")).to_have_count(0)
    last.scroll_into_view_if_needed()
    expect(last.locator("canvas")).to_have_count(1)
    expect(chart(page, "Reward").locator("canvas")).to_have_count(0)
    height = chart(page, "Reward").bounding_box()
    page.get_by_role("heading", level=1).scroll_into_view_if_needed()
    expect(over(page, "Reward")).to_be_visible()
    drawn = chart(page, "Reward").bounding_box()
    assert height is not None and drawn is not None and height["height"] == drawn["height"]


def test_a_click_on_a_point_opens_the_completions_of_that_step(page: Page, job: str) -> None:
    page.goto(f"/jobs/{job}")
    page.mouse.click(*place(over(page, "Reward"), 23))
    expect(page).to_have_url(re.compile(r"(?=.*tab=completions)(?=.*step=23\b)"))
    expect(page.get_by_role("textbox", name="Go to step")).to_have_value("23")
    expect(page.get_by_role("article").first).to_be_visible()
    page.go_back()
    expect(over(page, "Reward")).to_be_visible()


def test_an_address_opens_a_chart_large(page: Page, job: str) -> None:
    page.goto(f"/jobs/{job}")
    small = over(page, "Entropy").bounding_box()
    chart(page, "Entropy").get_by_role("button", name="More for Entropy").click()
    page.get_by_role("menuitem", name="Enlarge").click()
    expect(page).to_have_url(re.compile(r"[?&]chart=entropy\b"))
    page.reload()
    surface = page.get_by_role("dialog").locator(".u-over")
    expect(surface).to_be_visible()
    large = surface.bounding_box()
    assert small is not None and large is not None and large["width"] > 2 * small["width"]
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("chart="))


def test_is_it_training_is_answered_with_evidence(page: Page, demo: Demo, job: str) -> None:
    page.goto(f"/jobs/{job}")
    panel = page.get_by_role("region", name="Is it training?")
    before, after = demo.summary["reward_before"], demo.summary["reward_after"]
    expect(panel.get_by_role("heading")).to_contain_text(
        f"Yes: held-out reward {two(before)} → {two(after)} (+"
    )
    panel.locator("summary").click()
    expect(panel.get_by_text("A loss near 0 is normal")).to_be_visible()
    expect(
        panel.get_by_text(f"From {two(before)} to {two(after)} on rows that are not used for training")
    ).to_be_visible()
    panel.get_by_role("button", name="See completions").first.click()
    expect(page).to_have_url(re.compile(r"(?=.*tab=completions)(?=.*step=60\b)"))
