"""What the story promises: its arithmetic is the product's, it is light and quick, and it makes sense without being seen."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dpsql.epsilon.advising.rule import belief_after
from dpsql.epsilon.noise.outputs import OutputKind, level_epsilon
from dpsql.plots.density import density, distance
from dpsql.plots.samples import SAMPLE_BUCKETS, SIZE, samples
from dpsql.policy.model import NoiseLevel
from dpsql.web.explore import story_file
from dpsql.web.inputs import noise_facts
from tests.browser.transcript import ANSWER, ARRIVAL, SAME_DICE, STORY, committed, story, your_data
from tests.support.fix_pages import rides

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Visit = Callable[..., "Page"]
_FRAMES = """async () => {
  const slider = document.getElementById("slider");
  const times = [];
  for (let i = 0; i < 120; i += 1) {
    slider.value = 300 + 4 * (i % 100);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    times.push(await new Promise(requestAnimationFrame));
  }
  return times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
}"""


@pytest.fixture
def opened(chromium: "Browser", tmp_path: Path) -> "Iterator[Page]":
    """Give the story as one file, opened without any server; there is nothing to complain about and nothing to fetch."""
    file = tmp_path / "explore.html"
    file.write_text(story_file(), encoding="utf-8")
    page = chromium.new_page()
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.add_init_script(SAME_DICE)
    page.goto(file.as_uri())
    page.wait_for_selector("body[data-done]")
    yield page
    page.close()
    assert (complaints, asked) == ([], [file.as_uri()])


def test_the_story_is_told_without_server_and_account(opened: "Page") -> None:
    """All five steps and the roles; no question about anybody's data is offered."""
    for step in ("buckets", "worlds", "noise", "smoothing", "roles"):
        opened.keyboard.press("ArrowRight")
        opened.locator(f"#{step}.now").wait_for()
    assert opened.locator("[data-go=yours], #asking, form[action]").count() == 0


def test_its_transcript_is_the_committed_one(opened: "Page") -> None:
    """What a screen reader says of the page from its beginning to its end; the module `transcript` writes it anew."""
    assert story(opened) == committed(STORY)


def test_the_transcript_of_ones_own_data_is_the_committed_one(chromium: "Browser") -> None:
    """Before a question and after its answer, where nothing was spent before."""
    page = chromium.new_page()
    with rides() as served:
        said = list(your_data(page, served))
        page.close()
    assert said == [committed(ARRIVAL), committed(ANSWER)]


def test_noise_has_the_law_of_answers(visit: Visit) -> None:
    """P(z) ∝ exp(−|z|/s): even uniform numbers give each z in proportion, to what so many can tell."""
    page = visit("ana")
    many = 200_000
    for scale in (0.3, 1.0, 7.5):
        counts = page.evaluate(
            """async ([scale, many]) => { const { noise } = await import("/static/noise.js"); const found = {};
               for (let i = 0; i < many; i += 1) { const z = noise((i + 0.5) / many, scale); found[z] = (found[z] ?? 0) + 1; }
               return found; }""",
            [scale, many],
        )
        ratio = math.exp(-1 / scale)
        for z in range(-20, 21):
            law = (1 - ratio) / (1 + ratio) * ratio ** abs(z)
            assert abs(counts.get(str(z), 0) / many - law) <= 2 / many


def test_uniform_numbers_are_uniform(visit: Visit) -> None:
    """Between 0 and 1 and never one of them; the mean of 40,000 is off by 0.01 with odds below 1e-11."""
    page = visit("ana")
    low, high, mean = page.evaluate(
        """async () => { const { uniforms } = await import("/static/noise.js"); const u = uniforms(40000);
           return [Math.min(...u), Math.max(...u), u.reduce((a, b) => a + b) / u.length]; }"""
    )
    assert 0 < low < 0.01
    assert 0.99 < high < 1
    assert abs(mean - 0.5) < 0.01


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "5"])
@pytest.mark.parametrize("rows", [1, 2, 5, 40, 80])
def test_odds_are_those_of_the_best_guess(visit: Visit, epsilon: str, rows: int) -> None:
    """½ + ½ Σ max(0, P − Q) over all answers, never more than e^ε/(1 + e^ε); the other numbers are the server's own."""
    right, most, typical, spread = visit("ana").evaluate(
        """async ([epsilon, rows]) => { const n = await import("/static/noise.js");
           const scale = rows / epsilon;
           return [n.rightGuesses(epsilon, rows), n.belief(epsilon), n.typicalError(scale), n.deviation(scale, 1)]; }""",
        [float(epsilon), rows],
    )
    ratio = math.exp(-float(epsilon) / rows)
    law = [(1 - ratio) / (1 + ratio) * ratio ** abs(z) for z in range(-400_000, 400_000)]
    best = 0.5 + 0.5 * sum(max(0.0, p - q) for p, q in zip(law[rows:], law, strict=False))
    assert right == pytest.approx(best, abs=1e-9)
    assert most == pytest.approx(belief_after(Fraction(epsilon), 2).membership)
    assert right <= most + 1e-12
    assert typical == pytest.approx(noise_facts(rows, Fraction(epsilon))["typical"])
    assert spread**2 == pytest.approx(sum(p * (i - 400_000) ** 2 for i, p in enumerate(law)), rel=1e-6)


@pytest.mark.parametrize("smoothing", [0.02, 0.05])
def test_lines_are_those_of_the_density(visit: Visit, smoothing: float) -> None:
    """The very points that `dpsql plot` draws, in rows a bucket; and their distance."""
    page = visit("ana")
    raw = samples()["fare"].counts
    told = [count + (-1) ** i * (i % 13) for i, count in enumerate(raw)]
    first, other, apart = page.evaluate(
        """async ([one, other, width, total]) => { const n = await import("/static/noise.js");
           const weights = n.kernel(100, width, 240); const [a, b] = [one, other].map((c) => n.smooth(weights, c, total));
           return [[...a], [...b], n.apart(a, b)]; }""",
        [list(raw), told, smoothing, SIZE],
    )
    expected = [density(counts, 0, SAMPLE_BUCKETS, smoothing=smoothing) for counts in (raw, told)]
    for line, curve in zip((first, other), expected, strict=True):
        assert line == pytest.approx([SIZE * y for y in curve.y])
    assert apart == pytest.approx(distance(*expected), rel=0.01)


def test_the_band_holds_95_of_100(visit: Visit) -> None:
    """And one row less would not."""
    for scale in (0.2, 1.0, 10.0, 333.0):
        half = visit("ana").evaluate("async (scale) => (await import('/static/story.js')).within95(scale)", scale)
        ratio = math.exp(-1 / scale)
        outside = [2 * ratio ** (width + 1) / (1 + ratio) for width in (half, half - 1)]
        assert outside[0] <= 0.05 + 1e-12
        assert half == 0 or outside[1] > 0.05


def test_levels_are_those_of_the_product(visit: Visit) -> None:
    """ε of the three roles, for drivers of 10,000 trips."""
    page = visit("ana")
    epsilons = page.evaluate(
        """async () => { const { facts, multiples } = await import("/static/story.js");
           const { uniforms } = await import("/static/noise.js");
           const data = await (await fetch("/explore/story")).json();
           const state = { sample: "fare", size: 5, unit: "driver", epsilon: 1, draws: [uniforms(100)], smoothing: "light" };
           return multiples(facts(state, data)).map(({ epsilon }) => epsilon); }"""
    )
    wanted = [
        level_epsilon(level, [OutputKind.COUNT], contribution=40, rows=Fraction(10_000, 100), cap=None)
        for level in NoiseLevel
    ]
    assert epsilons == pytest.approx([float(epsilon) for epsilon in wanted])


def test_the_first_paint_takes_less_than_200_kb(visit: Visit) -> None:
    """Everything that comes over the wire for the page, its data included."""
    page = visit("ana", "budget")
    page.goto("/explore")
    page.wait_for_selector("body[data-done]")
    sizes = page.evaluate(
        """() => ['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind))
                   .map((one) => one.encodedBodySize)"""
    )
    assert len(sizes) > 8
    assert sum(sizes) + 500 * len(sizes) < 200_000


@pytest.mark.parametrize("step", ["worlds", "noise", "smoothing", "roles"])
def test_it_follows_the_slider_at_60_frames_a_second(visit: Visit, step: str) -> None:
    """With twenty earlier answers behind: half of the frames come at the screen's own pace, nearly all within two of it."""
    page = visit("ana")
    page.locator("[data-go=noise]").click()
    page.get_by_role("button", name="Draw 20 more").click()
    page.locator(f"[data-go={step}]").click()
    page.wait_for_timeout(200)
    # Others may have the processors for a moment: the best of three runs is the page's own doing.
    gaps = min((page.evaluate(_FRAMES) for _ in range(3)), key=lambda run: run[int(len(run) * 0.9)])
    assert gaps[len(gaps) // 2] < 17.5
    assert gaps[int(len(gaps) * 0.9)] < 34


def test_nothing_moves_by_itself(visit: Visit) -> None:
    """Also where less motion is asked for: no animation runs, and steps are not scrolled to in stages."""
    page = visit("ana", reduced_motion="reduce")
    page.locator("[data-go=smoothing]").click()
    page.locator("#smoothing.now").wait_for()
    assert page.evaluate("document.getAnimations().length") == 0
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
