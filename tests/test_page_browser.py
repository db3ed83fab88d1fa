"""The site in a real browser, opened from disk: what is clicked and typed, what is said aloud, and what is not asked
of any network. Every test fails on an error in the console and on a request for anything but a file of the site.
"""

from __future__ import annotations

import re

import pytest

from crosswarp.matrix.facts.language_table import Name, Release
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running.ir import Compiled
from crosswarp.reports import page as site_module
from crosswarp.reports.findings.history import history
from crosswarp.reports.findings.ir_cells import Shown
from crosswarp.reports.findings.view import view

pytestmark = pytest.mark.browser

HOSTILE = '\u202e\x1b[31m"></script><script>hacked=1</script><img src=x onerror=hacked=1>'
CRASH = "#target=sm_90&cell=chunk/triton-3.2.0"


@pytest.fixture
def site(page_run, make_issue, make_record, tmp_path):
    """The folder of a site: what page_run has, and more records."""

    def make(*more, language=None, runs=1, texts=None):
        issues = [make_issue(kernels=["*"])]
        for _ in range(runs - 1):
            page_run()
        with Store(page_run(more=more)) as store:
            shown = view(store, issues)
            past = history(store, shown.run)
            files = site_module.site(shown, issues, language, past, texts)
        site_module.write(tmp_path / "site", files)
        return tmp_path / "site"

    return make


@pytest.fixture
def visit(browser, site):
    """`visit("index.html#...")`: a tab with that page of a site."""
    contexts, wrong = [], []

    def watch(tab, folder):
        tab.on("console", lambda message: wrong.append(message.text))
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("dialog", lambda dialog: wrong.append(dialog.message))
        # What a new page cuts short has not failed.
        tab.on(
            "requestfailed",
            lambda request: "ERR_ABORTED" in request.failure or wrong.append(request.url),
        )
        tab.on(
            "request",
            lambda request: request.url.startswith(folder.as_uri()) or wrong.append(request.url),
        )

    def open_(path, folder=None, **settings):
        folder = folder or site()
        contexts.append(
            browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **settings})
        )
        tab = contexts[-1].new_page()
        watch(tab, folder)
        tab.wrong = wrong
        tab.goto(f"{folder.as_uri()}/{path}")
        return tab

    yield open_
    for context in contexts:
        context.close()
    assert not wrong


def follow(tab, link):
    """Click what leads to another page, and wait until that is read whole: a click alone waits for its beginning."""
    with tab.expect_navigation():
        link.click()


def shown(tab):
    """The kernels in the grid."""
    return tab.locator("#grid tbody tr:not(.title):visible th[scope=row]").all_inner_texts()


def at(tab):
    """The hash of the address, and what has the focus."""
    return tab.evaluate("[location.hash, document.activeElement.getAttribute('aria-label')]")


def test_the_grid_is_a_table_that_says_what_it_shows(visit):
    tab = visit("index.html#target=sm_90")
    table = tab.get_by_role("table", name="without compat and with it: compile, sm_90")
    assert [one.inner_text().split()[0] for one in table.get_by_role("columnheader").all()] == [
        "kernel", "3.1.0", "3.2.0", "3.3.1",
    ]  # fmt: skip
    assert [one.inner_text() for one in table.get_by_role("rowheader").all()] == [
        "chunk",
        "softmax",
    ]
    crash = tab.get_by_role(
        "button", name="chunk, triton-3.2.0: without compat crash, with compat pass"
    )
    assert "since the column before: regressed" in crash.get_attribute("aria-label")
    assert crash.inner_text().split() == ["†", "✓"]
    bare, shimmed = crash.locator(".mark").all()
    colours = [
        one.evaluate("node => getComputedStyle(node).backgroundColor") for one in (bare, shimmed)
    ]
    assert len(set(colours)) == 2


def test_filters_are_in_the_address_and_come_back_from_it(visit):
    tab = visit("index.html")
    assert shown(tab) == ["chunk", "softmax"]
    tab.get_by_label("sm_90").check(force=True)
    tab.get_by_label("Regressions only").check()
    assert shown(tab) == ["chunk"]
    assert "1 of 2 kernels, 1 squares match" in tab.get_by_role("status").inner_text()
    tab.reload()
    assert shown(tab) == ["chunk"] and tab.get_by_label("Regressions only").is_checked()
    tab.get_by_role("button", name="Clear").click()
    assert shown(tab) == ["chunk", "softmax"] and at(tab)[0] == "#target=sm_90"

    tab.get_by_label("Kernel").fill("SOFT*")
    assert shown(tab) == ["softmax"] and "kernel=SOFT*" in at(tab)[0]
    tab.get_by_label("Kernel").fill("chu, nothing")
    assert shown(tab) == ["chunk"]
    tab.get_by_label("Outcome").select_option("resource-regressed")
    assert shown(tab) == []
    tab.get_by_label("Kernel").fill("")
    assert shown(tab) == ["softmax"]
    tab.get_by_label("Outcome").select_option("crash")
    assert shown(tab) == ["chunk"]

    tab.get_by_label("interpret").check(force=True)
    assert at(tab)[0] == "#lane=interpret&outcome=crash"
    tab.get_by_label("Outcome").select_option("red")
    assert shown(tab) == ["softmax"]


def test_an_address_that_makes_no_sense_shows_the_grid(visit):
    tab = visit("index.html#target=sm_1&lane=x&outcome=y&regressions=2&cell=no/where&kernel=%")
    assert "has no no/where" in tab.get_by_role("status").inner_text()
    assert not tab.get_by_role("dialog").is_visible()
    assert tab.get_by_role("group", name="Target").get_by_label("all").is_checked()


def test_a_deep_address_opens_all_there_is_to_know(visit):
    tab = visit(f"index.html{CRASH}")
    dialog = tab.get_by_role("dialog", name="chunk on triton-3.2.0")
    dialog.get_by_role("heading", name="crash, without compat").wait_for()
    text = dialog.inner_text()
    for said in (
        "the compiler died:\nreshapeOuts: Assertion failed", "SIGABRT: LinearLayout reshapeOuts", "guarded_autotune",
        "crosswarp run --triton 3.2.0 --targets sm_90 --lanes compile --kernels chunk --suite suite",
    ):  # fmt: skip
        assert said in text
    link = dialog.get_by_role("link", name="example.org/owner/project/issues/1")
    assert link.get_attribute("href") == "https://example.org/owner/project/issues/1"
    dialog.get_by_text("All 4 cells").click()
    assert dialog.get_by_role("table").get_by_role("rowheader").count() == 2
    follow(tab, dialog.get_by_role("link", name="aborts at 8 warps"))
    assert (
        tab.url.endswith("issues/triton-1.html")
        and "Is this me?" in tab.locator("main").inner_text()
    )
    tab.go_back()
    assert tab.get_by_role("dialog").is_visible()


def test_resources_are_plotted_by_version(visit):
    tab = visit("index.html#cell=softmax/triton-3.2.0")
    tab.get_by_role("img", name="registers a thread. 3.1.0: 64; 3.2.0: 128").wait_for()
    said = tab.get_by_role("dialog").inner_text()
    assert "0 everywhere: stack, scratch." in said
    for figures in (
        "access to global memory. 3.1.0: 11.33; 3.2.0: 9",
        "compile, s. 3.1.0: 0.25; 3.2.0: 0.25",
    ):
        assert tab.get_by_role("img", name=figures).count() == 1
    assert "Since the column before: resource-regressed. What changed" in said
    tab.get_by_label("Case").select_option("fp16-7x33")
    # Registers, accesses, tensor cores and the time to compile, on two columns.
    assert tab.locator("svg.plot circle").count() == 8
    assert at(tab)[0] == "#cell=softmax/triton-3.2.0&case=fp16-7x33"
    tab.reload()
    tab.get_by_label("Case").wait_for()
    assert tab.get_by_label("Case").locator("option:checked").inner_text() == "fp16-7x33"
    tab.goto(tab.url.partition("index.html")[0] + "kernels/softmax.html")
    tab.get_by_label("Target").select_option("compile/sm_90")
    three = tab.get_by_role("img", name="registers a thread. 3.1.0: 64; 3.2.0: 128; 3.3.1: 64")
    three.wait_for()
    tab.reload()
    three.wait_for()


def test_the_keyboard_is_enough(visit):
    tab = visit("index.html#target=sm_90")
    tab.locator("#reset").focus()
    tab.keyboard.press("Tab")
    assert at(tab)[1].startswith("chunk, triton-3.1.0")
    for key, place in (
        ("ArrowRight", "chunk, triton-3.2.0"), ("ArrowDown", "softmax, triton-3.2.0"), ("End", "softmax, triton-3.3.1"),
        ("ArrowRight", "softmax, triton-3.3.1"), ("Control+Home", "chunk, triton-3.1.0"),
        ("PageDown", "softmax, triton-3.1.0"), ("ArrowUp", "chunk, triton-3.1.0"),
    ):  # fmt: skip
        tab.keyboard.press(key)
        assert at(tab)[1].startswith(place + ":"), key
    for key, text in (("ArrowLeft", "chunk"), ("ArrowUp", "3.1.0"), ("ArrowDown", "")):
        tab.keyboard.press(key)
        assert tab.evaluate("document.activeElement.innerText").startswith(text)
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    tab.get_by_role("dialog", name="chunk on triton-3.2.0").wait_for()
    assert at(tab) == ["#target=sm_90&cell=chunk/triton-3.2.0", "Close"]
    tab.keyboard.press("Shift+Tab")
    assert at(tab)[1] == "Newer column: triton-3.3.1"
    tab.keyboard.press("Enter")
    tab.get_by_role("dialog", name="chunk on triton-3.3.1").wait_for()
    tab.keyboard.press("Escape")
    assert not tab.get_by_role("dialog").is_visible()
    hash_, focused = at(tab)
    assert hash_ == "#target=sm_90" and focused.startswith("chunk, triton-3.3.1")


def test_back_closes_what_a_click_opened(visit):
    tab = visit("index.html#target=sm_90")
    tab.get_by_role("button", name="chunk, triton-3.2.0").click()
    tab.get_by_role("dialog").wait_for()
    tab.go_back()
    tab.get_by_role("dialog").wait_for(state="hidden")
    tab.go_forward()
    tab.get_by_role("dialog").wait_for()


def test_an_upgrade_has_an_address(visit):
    tab = visit("columns/index.html")
    title = "3.1.0 → 3.2.0: 1 breaking change (1 cell), fixed with compat. 1 kernel heavier."
    follow(tab, tab.get_by_title(title))
    assert tab.url.endswith("columns/triton-3.2.0.html#from-triton-3.1.0")
    assert tab.locator("details.upgrade[open]").count() == 1
    tab.goto(tab.url.replace("3.2.0.html#from-triton-3.1.0", "3.3.1.html#from-triton-3.1.0"))
    (opened,) = tab.locator("details.upgrade[open]").all()
    assert opened.locator("summary").inner_text().startswith("from 3.1.0")


def test_a_pasted_error_finds_its_issue(visit):
    tab = visit("issues/index.html")
    search = tab.get_by_label("Your error")
    search.fill("python: LinearLayout.cpp:562: reshapeOuts: Assertion failed")
    assert "1 issue is close to it" in tab.get_by_role("status").inner_text()
    tab.reload()
    assert "reshapeOuts" in search.input_value() and tab.get_by_role("rowheader").count() == 1
    search.fill("out of tea")
    assert "It may be new" in tab.get_by_role("status").inner_text()


def language_table():
    """Two releases: `tl.dot` is a function with an option in both, and fails in one; `tl.new` came with the second."""
    function = Name("function", "(a, allow_tf32=None)")
    places = dict.fromkeys(("sm_90", "gfx942", "interpreter"), "pass")
    red = {**places, "gfx942": f"crash: {HOSTILE} aborted"}
    return {
        "3.1.0": Release({}, {"tl.dot": function, "tl.load": Name("function", "(p)")},
                         {"tl.dot": red, "tl.dot(allow_tf32=True)": places, "tl.load": places}),
        "3.2.0": Release({}, {"tl.dot": function, "tl.load": Name("function", "(p)"), "tl.new": Name("type", "")},
                         {"tl.dot": places, "tl.dot(allow_tf32=True)": places, "tl.load": places}),
    }  # fmt: skip


def test_the_language_table_is_filtered_by_its_address_and_leads_to_errors(visit, site):
    folder = site(language=language_table())
    tab = visit("language/index.html", folder)

    def names():
        rows = tab.locator(".language tbody tr:visible th").all_inner_texts()
        return [row.strip().removeprefix("⋅ ") for row in rows]

    everything = ["tl.dot", "allow_tf32=True", "tl.load", "tl.new"]
    assert names() == everything
    tab.get_by_label("Name or option").fill("TF32")
    # The option, and the name that it is of.
    assert names() == ["tl.dot", "allow_tf32=True"] and tab.url.endswith("#name=TF32")
    tab.get_by_label("Name or option").fill("")
    tab.get_by_label("Only what differs").check()
    assert names() == ["tl.dot", "tl.new"] and tab.url.endswith("#differs=1")
    assert tab.get_by_role("status").inner_text() == "2 of 4 rows."
    assert visit("language/index.html#differs=1&name=new", folder).locator(
        ".language tbody tr:visible"
    ).count() == 1  # fmt: skip
    tab.get_by_label("Only what fails").check()
    assert names() == ["tl.dot"]
    sign = tab.get_by_role("link", name="N", exact=True)
    assert "gfx942: crash" in sign.get_attribute("title")
    sign.press("Enter")
    told = tab.locator(".failures tr:target").inner_text()
    assert "aborted" in told and "tl.dot" in told and "3.1" in told
    assert names() == ["tl.dot"] and tab.evaluate("typeof hacked") == "undefined"


def test_hostile_text_is_shown_and_does_nothing(visit, site, make_record):
    values = {
        name: HOSTILE + name for name in ("kernel", "case", "config", "fingerprint", "reason")
    }
    folder = site(make_record(**values, outcome="crash", message=HOSTILE * 20_000))
    tab = visit("index.html#outcome=crash&target=sm_90", folder)
    tab.get_by_role(
        "button", name="<script>hacked=1</script><img src=x onerror=hacked=1>kernel, triton-3.2.0"
    ).click()
    dialog = tab.get_by_role("dialog")
    dialog.get_by_role("heading", name="crash, without compat").wait_for()
    assert "characters left out" in dialog.locator(".message").inner_text()
    assert "\u202e" not in dialog.inner_text() and "\x1b" not in dialog.inner_text()
    for path in [
        "index.html",
        *(f.relative_to(folder).as_posix() for f in folder.rglob("*hacked*.html")),
    ]:
        tab.goto(f"{folder.as_uri()}/{path}")
        assert tab.evaluate("typeof hacked") == "undefined"
        assert tab.locator("script:not([src]), main img").count() == 0


def test_details_that_are_gone_say_what_to_do(visit, site):
    folder = site()
    (folder / "data" / "kernels" / "chunk.js").unlink()
    tab = visit(f"index.html{CRASH}", folder)
    alert = tab.get_by_role("alert")
    alert.wait_for()
    assert "make it again with crosswarp report" in alert.inner_text()
    # The browser says so too, and this once it is right.
    assert all("chunk.js" in one or "ERR_FILE_NOT_FOUND" in one for one in tab.wrong)
    tab.wrong.clear()


def test_it_opens_on_all_targets_with_the_worst_first(visit, site, make_record):
    red = {"outcome": "mismatch", "fingerprint": "f"}
    folder = site(make_record(kernel="about"), make_record(kernel="zeta", target="sm_80", **red))
    tab = visit("index.html", folder)
    # chunk dies on sm_90, softmax and zeta are wrong elsewhere; two squares are more than one.
    assert shown(tab) == ["chunk", "softmax", "zeta", "about"]
    assert (
        "All 4 kernels. All lanes and targets: 3 cells fail without compat"
        in tab.get_by_role("status").inner_text()
    )
    tab.get_by_label("By name").check()
    assert shown(tab) == ["about", "chunk", "softmax", "zeta"] and at(tab)[0] == "#sort=name"
    tab.get_by_label("By name").uncheck()
    # A square stands for several places, and opens on the worst of them.
    tab.get_by_role("button", name="chunk, triton-3.2.0: without compat crash").click()
    dialog = tab.get_by_role("dialog")
    dialog.get_by_role("heading", name="crash, without compat").wait_for()
    dialog.get_by_role("button", name="compile, sm_80").click()
    dialog.get_by_text("Every cell passes").wait_for()
    assert at(tab)[0] == "#cell=chunk/triton-3.2.0&at=compile/sm_80"
    tab.reload()
    dialog.get_by_text("Every cell passes").wait_for()


def test_one_switch_for_bare_and_shimmed_on_every_page(visit, site):
    folder = site(runs=2)
    tab = visit("index.html", folder)
    switch = tab.get_by_role("group", name="Show")
    switch.get_by_label("with compat", exact=True).check(force=True)
    assert tab.url.endswith("?mode=shimmed")
    # The crash is fixed, and what no shim fixes comes first.
    assert shown(tab)[0] == "softmax"
    assert (
        tab.locator("#grid .m-bare:visible").count()
        == 0
        < tab.locator("#grid .m-shimmed:visible").count()
    )
    tab.get_by_label("Outcome").select_option("crash")
    assert shown(tab) == [] and "Clear the filters" in tab.locator("#empty").inner_text()
    follow(tab, tab.get_by_role("link", name="Upgrades"))
    assert tab.url.endswith("columns/index.html?mode=shimmed")
    cell = tab.get_by_title(
        "3.1.0 → 3.2.0: 1 breaking change (1 cell), fixed with compat. 1 kernel heavier."
    )
    assert cell.inner_text().split() == ["0", "+2"]
    tab.get_by_role("group", name="Show").get_by_label("without compat", exact=True).check(
        force=True
    )
    assert cell.inner_text().split() == ["1", "+2"]
    tab.get_by_role("group", name="Show").get_by_label("both").check(force=True)
    assert cell.inner_text().split() == ["1", "+4"] and tab.url.endswith("columns/index.html")


def test_an_issue_has_its_fix_to_paste_and_a_shim_its_page(visit):
    tab = visit("issues/triton-1.html")
    text = tab.locator("main").inner_text()
    for line in ("pip install crosswarp", "compat.install()", "crosswarp vendor guarded_autotune"):
        assert line in text
    tab.goto(tab.url.replace("issues/triton-1.html", "index.html" + CRASH))
    tab.get_by_role("dialog").get_by_role("heading", name="crash, without compat").wait_for()
    assert (
        tab.locator("meta[name=description]").get_attribute("content").startswith("Triton kernels")
    )
    assert "pip install crosswarp" in tab.get_by_role("banner").inner_text()
    tab.goto(tab.url.partition("index.html")[0] + "shims/index.html#compiler_crash")
    assert "compiler_crash" in tab.locator("article:target").inner_text()


def test_runs_are_set_against_each_other(visit, site, make_record):
    red = make_record(
        kernel="chunk", column="triton-3.3.1", case="late", outcome="limit", reason="f"
    )
    folder = site(red, runs=3)
    tab = visit("history/index.html", folder)
    rows = tab.get_by_role("table", name="Runs").get_by_role("row").all_inner_texts()
    assert [row.split()[0] for row in rows[1:]] == ["3", "2", "1"]
    status = tab.get_by_role("status")
    assert "1 squares differ: 1 newly failing" in status.inner_text()
    changed = tab.locator("#changed").inner_text()
    assert "chunk" in changed and "without compat: pass → limit" in changed
    tab.locator("#from").select_option("run 1, " + rows[3].split()[1][:10])
    tab.locator("#to").select_option(index=1)
    assert "0 squares differ" in status.inner_text() and "#from=1&to=2" in tab.url
    tab.reload()
    assert "0 squares differ" in status.inner_text()
    tab.locator("#of").select_option("chunk")
    assert tab.get_by_label("triton-3.3.1, run 3: without compat limit").count() == 1
    assert tab.get_by_label("triton-3.3.1, run 2: without compat pass").count() == 1


def test_what_the_compiler_made_is_shown_with_what_differs(visit, site):
    cell = Shown(
        "chunk", "fp16", "num_warps=8", "sm_90", "regressed", "triton-3.1.0", "triton-3.2.0"
    )
    before = Compiled({"_k, 8 warps": {"ttir": "a\nb", "sass": f"MOV {HOSTILE}"}}, "pass")
    after = Compiled({"_k, 8 warps": {"ttir": "a\nB"}}, f"crash: {HOSTILE}", f"gone {HOSTILE}")
    folder = site(texts=[site_module.Entry(cell, before, after)])
    tab = visit("kernels/chunk.html", folder)
    follow(tab, tab.get_by_role("link", name="3.1.0 → triton-3.2.0"))
    differs = tab.get_by_role("region", name="ttir: what differs")
    assert differs.inner_text().split() == ["@@", "-1,2", "+1,2", "@@", "a", "-b", "+B"]
    colours = [
        differs.locator(f".{kind}").evaluate("node => getComputedStyle(node).color")
        for kind in ("add", "del")
    ]
    assert len(set(colours)) == 2
    tab.get_by_text("sass:").click()
    assert "One of the two has none." in tab.locator("main").inner_text()
    assert tab.evaluate("typeof hacked") == "undefined" and tab.locator("main img").count() == 0
    follow(tab, tab.get_by_role("link", name="IR"))
    assert tab.get_by_role("row", name="chunk").count() == 1


def test_a_run_without_cells_says_what_to_do(visit, tmp_path):
    with Store(tmp_path / "empty.db") as store:
        run = store.begin(["run"], {"columns": ["triton-3.2.0"], "targets": ["sm_90"]})
        store.finish(run, "cancelled", 130)
        files = site_module.site(view(store, []), [])
    site_module.write(tmp_path / "bare", files)
    tab = visit("index.html", tmp_path / "bare")
    assert "recorded no cell" in tab.get_by_role("status").inner_text()
    assert "crosswarp run" in tab.locator("#empty").inner_text()
    assert not tab.get_by_label("Kernel").is_visible()
    tab.goto(tab.url.replace("index.html", "columns/index.html"))
    assert "--triton all" in tab.locator(".empty").inner_text()


PAGES = ("index.html", f"index.html{CRASH}", "columns/index.html", "columns/triton-3.2.0.html", "issues/index.html",
         "issues/triton-1.html", "kernels/softmax.html", "language/index.html", "shims/index.html",
         "history/index.html")  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_a_phone_needs_no_sideways_scrolling(visit, site, make_record, path):
    """Tables scroll by themselves, and here they must."""
    more = [make_record(column=f"triton-3.{minor}.0") for minor in range(4, 12)]
    folder = site(*more, language=language_table(), runs=2)
    tab = visit(path, folder, viewport={"width": 360, "height": 740}, has_touch=True)
    tab.wait_for_load_state()
    assert tab.evaluate("document.scrollingElement.scrollWidth") <= 360


def test_light_dark_and_paper(visit, site):
    folder = site()
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    colours = [
        visit("index.html", folder, color_scheme=scheme).evaluate(ground)
        for scheme in ("light", "dark")
    ]
    assert [sum(map(int, re.findall(r"\d+", colour)[:3])) > 380 for colour in colours] == [
        True,
        False,
    ]
    tab = visit("index.html", folder, color_scheme="dark")
    tab.emulate_media(media="print")
    assert not tab.get_by_label("Kernel").is_visible()
    assert tab.get_by_role("table").is_visible()
    assert (
        tab.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    # Wider than it is high: the grid has many columns.
    width, height = re.search(
        rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", tab.pdf(prefer_css_page_size=True)
    ).groups()
    assert float(width) > float(height)


def test_each_page_is_legible_on_a_screen_and_on_a_phone(browser, site, make_record, load_script):
    folder = site(
        make_record(
            kernel="a_kernel_whose_name_is_longer_than_a_phone_is_wide",
            outcome="crash",
            fingerprint="SIGABRT: ConcreteTypes::verifyInvariants(getDefaultDiagnosticEmitFn(ctx))",
        )
    )
    with browser.new_context() as context:
        layout = load_script("proofs/site_layout.py")
        assert layout.walk(context.new_page(), folder, "main") == []
