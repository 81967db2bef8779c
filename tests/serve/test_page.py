"""The page in a real Chromium. Screenshots are left in build/screenshots."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.serving import Server, model, start

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-sync", "--disable-component-update"),
]
SHOTS = Path(__file__).resolve().parents[2] / "build" / "screenshots"
expect.set_options(timeout=15_000)  # machines that do other things as well
TEXT = "Der Hund sieht den Stein. Heute lacht die Frau.\n\nDer Mann sucht den Wald."


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield made
        made.close()


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    yield from _page(browser, server)


def _page(browser: Browser, server: Server, **options: Any) -> Iterator[Page]:
    """A page that may ask its own server alone, and says nothing on the console."""
    context = browser.new_context(viewport={"width": 1200, "height": 1100}, **options)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.url)
    page = context.new_page()
    page.set_default_timeout(15_000)
    wrong: list[str] = []
    page.on("request", lambda r: None if r.url.startswith((server.url, "data:", "blob:")) else wrong.append(r.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda m: wrong.append(m.text) if m.type in {"error", "warning"} else None)
    page.goto(server.url)
    yield page
    context.close()
    expected = getattr(page, "expected", 0)
    assert len(wrong) == expected, wrong


def write(page: Page, text: str = TEXT) -> None:
    page.fill("#source", text)
    expect(page.locator("#features tbody tr").first).to_be_visible()
    expect(page.locator("#target.busy")).to_have_count(0)


def shot(page: Page, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png", full_page=True)


def serious(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found if one["impact"] in {"serious", "critical"}]


def test_text_is_translated_as_it_is_written(page: Page) -> None:
    page.locator("#source").press_sequentially("der Hund sieht den Stein.", delay=15)
    expect(page.locator("#target")).to_have_text("The dog sees the stone.")
    write(page)
    expect(page.locator("#target")).to_have_text(
        "The dog sees the stone. Today the woman laughs.\n\nThe man seeks the forest."
    )
    assert page.locator("#target").inner_text().count("\n\n") == 1
    shot(page, "wide")


def test_words_light_what_belongs_to_them_both_ways(page: Page) -> None:
    write(page)
    page.hover("#target .word >> text=dog")
    expect(page.locator("#mirror mark")).to_have_text("Hund")
    page.hover("#target .word >> text=laughs")
    expect(page.locator("#mirror mark")).to_have_text("lacht")
    page.hover("#source-words button >> text=Stein")
    expect(page.locator("#target-words .hot")).to_have_text("stone")
    expect(page.locator("#links line.hot")).to_have_count(1)
    page.hover("#target-words button >> text=sees")
    expect(page.locator("#source-words .hot")).to_have_text("sieht")
    expect(page.locator("#mirror mark")).to_have_text("sieht")
    shot(page, "hover")
    page.locator("#source").focus()  # the caret lights the translation, too
    page.keyboard.press("Control+Home")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#target .word.hot")).to_have_text("dog")


def test_words_of_the_source_text_light_their_translation(page: Page) -> None:
    write(page, "Heute lacht die Frau. Der Mann sucht den Wald.")
    for word, translation in (("Frau", "woman"), ("lacht", "laughs"), ("Wald", "forest")):
        over_source(page, word)
        expect(page.locator("#target .word.hot")).to_have_text(translation)
        expect(page.locator("#mirror mark")).to_have_text(word)
    shot(page, "hover-source")
    page.hover("#target .word >> text=laughs")  # and the other way
    expect(page.locator("#mirror mark")).to_have_text("lacht")
    area = page.locator("#source").bounding_box()
    assert area
    page.mouse.move(area["x"] + area["width"] - 20, area["y"] + area["height"] - 20)  # where no text is
    page.mouse.move(area["x"] + area["width"] + 400, area["y"] + 5)
    expect(page.locator("#target .word.hot")).to_have_count(0)
    expect(page.locator("#mirror mark")).to_have_count(0)


def over_source(page: Page, word: str) -> None:
    """Moves the pointer to a word of the text that was written: its place is found by a range in a copy of the text."""
    x, y = page.evaluate(
        """word => {
            const area = document.getElementById("source"), copy = area.cloneNode();
            const text = document.createElement("div");
            text.style.cssText = "position:fixed;white-space:pre-wrap;overflow-wrap:break-word;visibility:hidden";
            const style = getComputedStyle(area), box = area.getBoundingClientRect();
            for (const name of ["font", "padding", "border", "boxSizing", "lineHeight"]) text.style[name] = style[name];
            Object.assign(text.style, {left: box.left + "px", top: box.top + "px", width: box.width + "px"});
            text.textContent = area.value;
            document.body.append(text);
            const range = document.createRange(), at = area.value.indexOf(word);
            range.setStart(text.firstChild, at);
            range.setEnd(text.firstChild, at + word.length);
            const place = range.getBoundingClientRect();
            text.remove();
            return [place.x + place.width / 2, place.y + place.height / 2];
        }""",
        word,
    )
    page.mouse.move(x, y)


def asked(page: Page) -> list[str]:
    """The texts that the page asks translations of from now on, but for explanations."""
    texts: list[str] = []

    def note(request: Any) -> None:
        if request.url.endswith("/v1/translate") and not (request.post_data_json or {}).get("explain"):
            texts.append(request.post_data_json["text"])

    page.on("request", note)
    return texts


def test_keys_in_quick_succession_ask_once(page: Page) -> None:
    """By a clock of ours: on a busy machine keys come late."""
    texts = asked(page)
    page.clock.install()
    page.clock.pause_at(time.time() + 60)
    for typed, translated in (
        ("der Hund lacht.", "The dog laughs."),
        (" die Frau lacht.", "The dog laughs. The woman laughs."),
    ):
        for letter in typed:
            page.clock.run_for(100)
            page.locator("#source").press_sequentially(letter)
        page.clock.run_for(1000)
        expect(page.locator("#target")).to_have_text(translated)
    assert texts == ["der Hund lacht.", "der Hund lacht. die Frau lacht."]


def test_what_is_outdated_is_cancelled(page: Page, server: Server) -> None:
    """At the first key stroke: the browser gives the request up, and the server its search."""
    failed: list[str] = []
    page.on("requestfailed", lambda request: failed.append(request.failure or ""))
    page.route(
        "**/v1/translate", lambda route: None if "Mann" in (route.request.post_data or "") else route.continue_()
    )
    with page.expect_request("**/v1/translate"):
        page.fill("#source", "der Mann lacht.")
    assert not failed
    with page.expect_event("requestfailed"):
        page.locator("#source").press("x")
    assert failed == ["net::ERR_ABORTED"]
    page.fill("#source", "der Hund lacht.")
    expect(page.locator("#target")).to_have_text("The dog laughs.")
    page.unroute("**/v1/translate")
    cancelled = server.metric("dragoman_cancelled_total")
    with page.expect_request("**/v1/translate"):
        page.fill("#source", " ".join([TEXT.replace("\n", " ")] * 100))
    page.wait_for_timeout(50)
    page.fill("#source", "der Vogel lacht.")
    expect(page.locator("#target")).to_have_text("The bird laughs.")
    server.calm()
    assert server.metric("dragoman_cancelled_total") == cancelled + 1


def test_answers_out_of_order_change_nothing(page: Page) -> None:
    """An answer that comes after that of a newer text is not shown, even if the browser lets it through."""
    page.evaluate(
        """() => {  // a network that does not hear that a request is given up, and holds back the first answers
            const real = window.fetch;
            window.fetch = async (path, options = {}) => {
                const old = String(options.body || "").includes("Mann");
                if (old) await new Promise((done) => setTimeout(done, 1500));
                const answer = await real(path, {...options, signal: undefined});
                if (old) window.came = (window.came || 0) + 1;
                return answer;
            };
        }"""
    )
    page.fill("#source", "der Mann lacht.")
    page.wait_for_timeout(400)
    page.fill("#source", "der Hund lacht. die Frau lacht.")
    expect(page.locator("#target")).to_have_text("The dog laughs. The woman laughs.")
    until = time.monotonic() + 15
    while not page.evaluate("window.came || 0") and time.monotonic() < until:
        page.wait_for_timeout(100)
    assert page.evaluate("window.came") == 1
    page.wait_for_timeout(200)
    expect(page.locator("#target")).to_have_text("The dog laughs. The woman laughs.")
    expect(page.locator("#source-words")).to_contain_text("Hund")
    expect(page.locator("#error")).to_be_hidden()


def test_a_long_text_comes_sentence_by_sentence(browser: Browser, models: Path) -> None:
    own = start("--model", models / "phrase", "--deadline", "2", "--threads", "1")
    try:
        for page in _page(browser, own):
            page.evaluate(
                """() => {  // all that is said on the way, however quickly
                    const status = document.getElementById("status");
                    window.said = [];
                    new MutationObserver(() => window.said.push(status.textContent)).observe(status, {childList: true});
                }"""
            )
            page.fill("#source", "\n\n".join([TEXT] * 200))
            expect(page.locator("#status")).to_contain_text("600 sentences in", timeout=90_000)
            assert sum("so far" in said for said in page.evaluate("window.said")) > 1
            shot(page, "long")
            wanted = "The dog sees the stone. Today the woman laughs.\n\nThe man seeks the forest."
            assert page.locator("#target").evaluate("e => e.textContent") == "\n\n".join([wanted] * 200)
            page.locator("#target .word >> text=woman").first.hover()
            expect(page.locator("#mirror mark")).to_have_text("Frau")
            expect(page.locator("#features tbody tr").first).to_be_visible()
            page.expected = 1  # type: ignore[attr-defined]  # Chromium notes the 413 on its console
    finally:
        assert own.stop() == 0


def test_a_word_far_down_is_shown(page: Page) -> None:
    """The mark lies on its word, in sight, however far the text was scrolled and whatever was marked before."""
    write(page, "\n".join([f"{TEXT}"] * 20 + ["der Vogel kennt den Baum."]))
    for word, source in (("bird", "Vogel"), ("dog", "Hund"), ("bird", "Vogel")):
        page.locator(f"#target .word >> text={word}").first.hover()
        mark = page.locator("#mirror mark").first
        expect(mark).to_have_text(source)
        area, box = page.locator("#source").bounding_box(), mark.bounding_box()
        assert area and box and area["y"] <= box["y"] and box["y"] + box["height"] <= area["y"] + area["height"]
        scrolled = "e => e.scrollTop"
        assert page.locator("#source").evaluate(scrolled) == page.locator("#mirror").evaluate(scrolled)
    shot(page, "far-down")


def test_keys_go_through_the_words(page: Page) -> None:
    write(page)
    page.locator("#source-words button").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#target-words .hot")).to_have_text("dog")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#target-words button:focus")).to_have_text("dog")
    page.locator("#source").fill("der Mann sieht den Stein.")
    page.locator("#source").press("Control+Enter")
    expect(page.locator("#target")).to_have_text("The man sees the stone.")


def test_alternatives_are_compared(page: Page) -> None:
    write(page)
    page.click("#target .sentence >> nth=1")
    expect(page.locator("#which")).to_have_text("Sentence 2 of 3")
    expect(page.locator("#source-words")).to_contain_text("Frau")
    rows = page.locator("#nbest tbody tr")
    expect(rows.nth(2)).to_be_visible()
    page.check("#nbest input[name=b] >> nth=2")
    expect(page.locator("#compared")).to_contain_text("A is ahead by")
    shown = page.locator("#features tbody tr").all_inner_texts()
    differences = [float(row.split("\t")[3].replace("−", "-")) for row in shown]
    scores = [float(text.replace("−", "-")) for text in rows.locator("td.number").all_inner_texts()]
    assert sum(differences) == pytest.approx(scores[0] - scores[2], abs=0.02)
    page.check("#nbest input[name=b] >> nth=0")
    expect(page.locator("#compared")).to_contain_text("adds up to")
    assert page.locator("#phrases tbody tr").count() >= 2
    shot(page, "alternatives")


def test_a_hierarchical_model_shows_its_tree(page: Page) -> None:
    page.select_option("#model", "hiero")
    write(page, "der Hund sieht den Stein.")
    expect(page.locator("#phrases tbody")).to_contain_text("put together")
    shot(page, "hiero")


def test_the_glossary_is_obeyed(page: Page) -> None:
    write(page)
    page.click("#glossary-box summary")
    page.fill("#glossary", "Hund = hound\nnonsense")
    expect(page.locator("#terms")).to_have_text("(1 term, 1 line without a term and a translation)")
    expect(page.locator("#target")).to_contain_text("The hound sees")
    page.reload()
    write(page)
    expect(page.locator("#target")).to_contain_text("The hound sees")


def test_copy_and_clear(page: Page) -> None:
    write(page, "der Hund sieht den Stein.")
    page.click("#copy")
    expect(page.locator("#status")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == "The dog sees the stone."
    page.click("#clear")
    expect(page.locator("#target")).to_be_empty()
    expect(page.locator("#why")).to_be_hidden()


@pytest.mark.parametrize("ending", ["txt", "srt", "docx"])
def test_files_are_translated(page: Page, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"in.{ending}"
    if ending == "docx":
        document = docx.Document()
        document.add_paragraph("der ").add_run("Hund").bold = True
        document.paragraphs[0].add_run(" sieht den Stein.")
        document.save(str(path))
    elif ending == "srt":
        path.write_text("1\n00:00:01,000 --> 00:00:02,000\nder Hund\nsieht den Stein.\n\n", encoding="utf-8")
    else:
        path.write_text("der Hund sieht den Stein.\n\nheute lacht die Frau.\n", encoding="utf-8")
    page.set_input_files("#file", path)
    with page.expect_download() as coming:
        page.click("#download a")
    out = tmp_path / f"out.{ending}"
    coming.value.save_as(out)
    if ending == "docx":
        made = docx.Document(str(out)).paragraphs[0]
        assert made.text == "The dog sees the stone."
        assert [run.text.strip() for run in made.runs if run.bold] == ["dog"]
    elif ending == "srt":
        assert out.read_text() == "1\n00:00:01,000 --> 00:00:02,000\nThe dog sees\nthe stone.\n\n"
    else:
        assert out.read_text() == "The dog sees the stone.\n\nToday the woman laughs.\n"


def test_errors_are_told(page: Page, tmp_path: Path) -> None:
    write(page)
    path = tmp_path / "in.srt"
    path.write_bytes(b"\xff\xfe no text")
    page.set_input_files("#file", path)
    expect(page.locator("#error")).to_have_text("in.srt: expected a file of UTF-8 text")
    shot(page, "error")
    page.route("**/v1/translate", lambda route: route.fulfill(status=503, json={"error": "try again later"}))
    page.fill("#source", "der Hund")
    expect(page.locator("#error")).to_have_text("try again later")
    expect(page.locator("#target")).to_be_empty()  # what was there belongs to another text
    expect(page.locator("#why")).to_be_hidden()
    shot(page, "busy")
    page.expected = 2  # type: ignore[attr-defined]  # Chromium notes both answers on its console


def test_a_server_that_is_gone_is_told(page: Page) -> None:
    write(page)
    page.route("**/v1/translate", lambda route: route.abort())
    page.fill("#source", "der Mann")
    expect(page.locator("#error")).to_have_text("the server does not answer: is it still running?")
    page.unroute("**/v1/translate")
    page.locator("#source").press("Control+Enter")
    expect(page.locator("#target")).to_have_text("The man")
    expect(page.locator("#error")).to_be_hidden()
    page.expected = 1  # type: ignore[attr-defined]


def test_a_server_without_models_says_so(browser: Browser, models: Path) -> None:
    own = start("--offer", models, "--workers", "0")
    try:
        for page in _page(browser, own):
            expect(page.locator("#error")).to_have_text("no model is loaded on this server")
            assert own.raw("/v1/models/phrase/load", b"")[0] == 200
            page.reload()
            write(page)
    finally:
        assert own.stop() == 0


def test_it_fits_a_telephone(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    long = "Der Mann sucht den Wald, der Junge kennt den Baum, die Lehrerin singt, Donaudampfschifffahrtsgesellschaft."
    for name in ("phrase", "hiero"):
        page.select_option("#model", name)
        write(page, long)
        expect(page.locator("#status")).to_contain_text("sentence")
        page.wait_for_timeout(300)
        wide = """() => [...document.querySelectorAll("body *")].filter((e) => e.scrollWidth > e.clientWidth + 1
            && ["auto", "scroll"].includes(getComputedStyle(e).overflowX))
            .map((e) => e.getAttribute("aria-labelledby") || e.id)"""
        assert page.evaluate(wide) == [], "something has to be scrolled sideways"
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        shot(page, f"telephone-{name}")
    page.locator("#source-words button").first.focus()  # columns: up and down in a text, sideways to the other
    page.keyboard.press("ArrowDown")
    expect(page.locator("#source-words button:focus")).to_have_text("Mann")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#target-words button:focus")).to_have_count(1)
    page.select_option("#model", "phrase")
    write(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for name in ("#source", "#target", "#copy", "#model", "#features"):
        box = page.locator(name).bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 360, name
    shot(page, "telephone")
    assert serious(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(browser: Browser, server: Server, scheme: str) -> None:
    for page in _page(browser, server, color_scheme=scheme):
        assert serious(page) == []
        write(page)
        page.click("#glossary-box summary")
        page.hover("#target .word >> text=dog")
        assert serious(page) == []
        shot(page, scheme)


def test_dark_is_chosen_and_kept(page: Page) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.click("#theme")
    dark = page.evaluate(ground)
    assert light != dark
    page.reload()
    expect(page.locator("#theme")).to_have_attribute("aria-pressed", "true")
    assert page.evaluate(ground) == dark


def test_a_language_from_right_to_left(browser: Browser, tmp_path: Path) -> None:
    own = start("--model", model(tmp_path, "hebrew"), "--workers", "0")
    try:
        for page in _page(browser, own):
            write(page, "The dog sees the stone. NATO laughs.")
            expect(page.locator("#target")).to_contain_text("כלב רואה")
            direction = "e => getComputedStyle(e).direction"
            for name in ("#target", "#target-words", "#nbest tbody td:nth-child(3) >> nth=0"):
                assert page.locator(name).evaluate(direction) == "rtl", name
            page.click("#after")  # a sentence whose first word is Latin
            expect(page.locator("#target-words")).to_contain_text("NATO")
            assert page.locator("#nbest tbody td:nth-child(3) >> nth=0").evaluate(direction) == "rtl"
            assert page.locator("#source").evaluate(direction) == "ltr"
            page.hover("#target .word >> text=כלב")
            expect(page.locator("#mirror mark")).to_have_text("dog")
            assert serious(page) == []
            shot(page, "hebrew")
    finally:
        assert own.stop() == 0


def test_right_to_left_scripts(page: Page) -> None:
    write(page, "הכלב רואה. der Hund")
    direction = "e => getComputedStyle(e).direction"
    assert page.locator("#source").evaluate(direction) == "rtl"
    assert page.locator("#source-words").evaluate(direction) == "rtl"
    shot(page, "right-to-left")


def test_a_page_that_needs_a_key(browser: Browser, models: Path, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("secret-key-1\n")
    own = start("--model", models / "phrase", "--workers", "0", "--keys", tmp_path / "keys")
    try:
        for page in _page(browser, own):
            expect(page.locator("#key")).to_be_visible()
            assert serious(page) == []
            page.fill("#key", "wrong-key-1")
            page.locator("#key").press("Enter")
            expect(page.locator("#keybox #error")).to_have_text("Invalid API key")
            shot(page, "key")
            page.fill("#key", "secret-key-1")
            page.locator("#key").press("Enter")
            write(page)
            expect(page.locator("#target")).to_contain_text("The dog sees the stone.")
            expect(page.locator("#error")).to_be_hidden()
            page.route("**/v1/translate", lambda route: route.fulfill(status=503, json={"error": "try again later"}))
            page.fill("#source", "der Hund")
            expect(page.locator("#target ~ #error")).to_have_text("try again later")
            page.expected = 2  # type: ignore[attr-defined]  # Chromium notes both answers on its console
    finally:
        assert own.stop() == 0
