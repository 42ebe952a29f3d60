"""The page of step 08 in a real browser: what a unit test of bytes cannot see.

Each test is skipped aloud where no Chromium with its driver is installed. LAB_PHOTOS, in the
environment, is a folder that gets pictures of the page.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kit.parts import ROOT, part_paths

webdriver = pytest.importorskip("selenium.webdriver", reason="the group `browser` is missing")
from selenium.common.exceptions import WebDriverException  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

sys.path.insert(0, str(ROOT / "solutions"))
import server  # noqa: E402
import stage as stages  # noqa: E402

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
DRIVER = shutil.which("chromedriver") or ""
PATIENCE = 20.0  # seconds that a page may take
KEY = "key-that-nobody-else-may-see"
PHONE = {"width": 390, "height": 760, "deviceScaleFactor": 1, "mobile": True}

pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="there is no Chromium with a chromedriver on this machine"
)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One browser for all tests."""
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    profile = tmp_path_factory.mktemp("profile")
    for argument in ("--headless=new", "--window-size=860,700", f"--user-data-dir={profile}"):
        options.add_argument(argument)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses its sandbox to root
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """The browser without cookies, and with the window of a desk."""
    chromium.get_log("browser")
    yield chromium
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.execute_cdp_cmd("Network.clearBrowserCookies", {})


@pytest.fixture
def stage() -> Iterator[Any]:
    """Real servers whose links lead to loopback."""
    made = stages.Stage(server.Parts(part_paths(os.environ.get("PARTS", "solutions"))), base="")
    yield made
    made.close()


def start(stage: Any) -> tuple[Any, str]:
    """Alice calls the tool: the result that asks, and its link."""
    asked = stage.send(stage.connect()).result
    return asked, asked["inputRequests"]["connect_page"]["params"]["url"]


def heading(browser: Any) -> str:
    return str(browser.find_element("css selector", "h1").text)


def forms(browser: Any) -> list[Any]:
    return list(browser.find_elements("css selector", "form"))


@contextmanager
def next_page(browser: Any) -> Iterator[None]:
    """Wait, at the end, until another page is there in the place of this one."""
    browser.execute_script("window.isOld = true")
    yield
    new = "return !window.isOld && document.readyState === 'complete'"
    wait = WebDriverWait(browser, PATIENCE, 0.05, [WebDriverException])  # between two pages
    wait.until(lambda _: browser.execute_script(new))


def submit(browser: Any, field: str, text: str) -> None:
    """Type into a field and press the button, with a mouse."""
    browser.find_element("name", field).send_keys(text)
    with next_page(browser):
        browser.find_element("css selector", "button").click()


def sign_in(browser: Any, url: str, who: str) -> None:
    """Open a link, and sign in as this user where the page asks for it."""
    browser.get(url)
    submit(browser, "access", stages.TOKENS[who])


def photograph(browser: Any, name: str) -> None:
    if folder := os.environ.get("LAB_PHOTOS"):
        browser.save_screenshot(str(Path(folder) / name))


def test_a_key_goes_from_the_browser_into_the_vault(browser: Any, stage: Any) -> None:
    asked, url = start(stage)
    sign_in(browser, url, "alice")
    assert (
        browser.current_url == url and "alice" in browser.find_element("css selector", "main").text
    )
    submit(browser, "credential", KEY)
    assert heading(browser) == "Connected"
    assert stage.world.desk.vault.find("alice") == KEY
    done = stage.retry_connect(asked, {"action": "accept"}).result
    assert done["resultType"] == "complete" and not done["isError"]
    seen = (browser.page_source, browser.current_url, browser.get_cookies(), stage.tape.entries)
    assert KEY not in repr(seen)
    assert browser.execute_script("return document.cookie") == ""


def test_a_link_that_is_passed_on_shows_no_form(browser: Any, stage: Any) -> None:
    _, url = start(stage)
    sign_in(browser, url, "bob")
    assert heading(browser) == "This link belongs to somebody else"
    assert "bob" in browser.page_source and "alice" not in browser.page_source
    assert forms(browser) == []
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    sign_in(browser, url, "alice")
    assert len(forms(browser)) == 1


def test_a_link_that_is_over_takes_no_key(browser: Any, stage: Any) -> None:
    _, url = start(stage)
    sign_in(browser, url, "alice")
    stage.clock.advance(600)
    submit(browser, "credential", KEY)
    assert heading(browser) == "This link is over" and forms(browser) == []
    assert stage.world.desk.vault.find("alice") is None
    _, url = start(stage)
    browser.get(url)
    submit(browser, "credential", KEY)
    assert stage.world.desk.vault.find("alice") == KEY


def test_a_wrong_token_and_a_wrong_key_are_asked_for_again(browser: Any, stage: Any) -> None:
    _, url = start(stage)
    browser.get(url)
    for access in ("not-a-token", stages.TOKENS["alice"]):
        submit(browser, "access", access)
    submit(browser, "credential", "schlüssel")
    alert = browser.find_element("css selector", "[role=alert]")
    assert alert.is_displayed() and alert.text
    submit(browser, "credential", KEY)
    assert stage.world.desk.vault.find("alice") == KEY


def test_the_page_works_with_the_keyboard_alone(browser: Any, stage: Any) -> None:
    _, url = start(stage)
    browser.get(url)
    for text in (stages.TOKENS["alice"], KEY):
        reached = []
        for _ in range(2):
            browser.switch_to.active_element.send_keys("\ue004")  # the tabulator
            focused = browser.switch_to.active_element
            assert focused.accessible_name, "what is focused has no name"
            width = focused.value_of_css_property("outline-width")
            assert float(width.removesuffix("px")) >= 2, "the focus cannot be seen"
            reached.append(focused.tag_name)
            if focused.tag_name == "input":
                focused.send_keys(text)
        assert reached == ["input", "button"]
        with next_page(browser):
            browser.switch_to.active_element.send_keys("\ue007")  # enter
    assert heading(browser) == "Connected"
    assert stage.world.desk.vault.find("alice") == KEY


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_on_a_phone_and_its_style_is_let_in(
    browser: Any, stage: Any, scheme: str
) -> None:
    _, url = start(stage)
    feature = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": feature})
    sign_in(browser, url, "alice")
    photograph(browser, f"page-{scheme}.png")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    button = browser.find_element("css selector", "button")
    assert button.size["height"] >= 44, "a thumb does not hit it"
    assert button.value_of_css_property("background-color") != "rgba(239, 239, 239, 1)"
    photograph(browser, f"phone-{scheme}.png")
    log = [entry for entry in browser.get_log("browser") if entry["level"] != "DEBUG"]
    assert log == [], "the browser has complained"


def test_no_other_page_can_frame_it(browser: Any, stage: Any) -> None:
    _, url = start(stage)
    browser.get(f"data:text/html,<iframe src='{url}'></iframe>")
    browser.switch_to.frame(0)
    assert forms(browser) == []
    browser.switch_to.default_content()
    browser.get(url)
    assert len(forms(browser)) == 1
