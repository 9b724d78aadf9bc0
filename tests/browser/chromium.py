"""How is a real Chromium driven? Headless, on its own profile, telling all it complained about and all it asked for."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)
WIDE, NARROW = 1440, 390
PATIENCE = 15  # seconds a page may take on a busy machine


def found() -> tuple[str, str] | None:
    """The browser and its driver, None where one of them isn't installed."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


class Browser:
    """One Chromium. `complaints()` are errors, warnings of the policy included, since it was last asked."""

    def __init__(self, browser: str, driver: str, profile: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = browser
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(driver))
        self.driver.set_page_load_timeout(PATIENCE * 2)
        self.address = ""

    def quit(self) -> None:
        """End the browser and its driver."""
        self.driver.quit()

    # what the person has --------------------------------------------------------------------------------------

    def screen(self, width: int, *, dark: bool) -> None:
        """A screen of this width; the system's theme is light or dark."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [feature]})

    def cookie(self, name: str, value: str) -> None:
        """Set a cookie of the portal."""
        self.driver.execute_cdp_cmd("Network.setCookie", {"name": name, "value": value, "url": self.address})

    def forget(self) -> None:
        """Be a new visitor."""
        self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.leave()
        self.complaints()
        self.requests()

    def leave(self) -> None:
        """Close the page: what it still looks at by itself ends with it."""
        self.driver.get("about:blank")

    # what the person does -------------------------------------------------------------------------------------

    def open(self, path: str) -> None:
        """Go to a page of the portal."""
        self.driver.get(self.address + path)

    def find(self, selector: str) -> Any:
        """The first element, waiting for it."""
        return WebDriverWait(self.driver, PATIENCE).until(
            lambda driver: driver.find_element(By.CSS_SELECTOR, selector)
        )

    def settle(self) -> None:
        """Until the page is loaded and htmx has nothing under way."""
        WebDriverWait(self.driver, PATIENCE).until(
            lambda _: self.run(
                "return document.readyState === 'complete' && !document.querySelector('.htmx-request')"
            )
        )

    def wait_for(self, words: str) -> None:
        """Until the page says `words`."""
        WebDriverWait(self.driver, PATIENCE).until(lambda _: words in self.text())

    def text(self) -> str:
        """What the page says."""
        return str(self.run("return document.body.innerText"))

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script as the developer's console does, outside the page's policy."""
        return self.driver.execute_script(script, *arguments)

    def press(self, key: str) -> None:
        """One key, to whatever has the focus."""
        webdriver.ActionChains(self.driver).send_keys(key).perform()

    # what can be seen -----------------------------------------------------------------------------------------

    def complaints(self) -> list[str]:
        """Errors and warnings of the console since the last call."""
        entries = self.driver.get_log("browser")
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> list[str]:
        """Every address that was asked for since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def strangers(self) -> list[str]:
        """Addresses that were asked for and are not the portal's."""
        own = urlsplit(self.address).netloc
        return [
            url
            for url in self.requests()
            if not url.startswith(("data:", "about:", "chrome")) and urlsplit(url).netloc != own
        ]

    def too_wide(self) -> list[str]:
        """What sticks out at the side: empty when the page can't be scrolled sideways."""
        return list(self.run(_TOO_WIDE))

    def picture(self, path: Path) -> None:
        """The whole page as PNG."""
        height = int(self.run("return document.documentElement.scrollHeight"))
        width = int(self.run("return document.documentElement.clientWidth"))
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, 6000), "scale": 1}
        shot = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(shot["data"]))


_TOO_WIDE = """
const limit = document.documentElement.clientWidth;
if (document.documentElement.scrollWidth <= limit) return [];
return [...document.querySelectorAll("body *")]
  .filter((e) => e.getBoundingClientRect().right > limit + 1 && !e.closest(".visually-hidden"))
  .slice(0, 5).map((e) => `${e.tagName}.${e.className} ${e.textContent.trim().slice(0, 40)}`);
"""


@contextmanager
def started(profile: Path) -> Iterator[Browser]:
    """A browser that ends with the block; RuntimeError where there is none."""
    tools = found()
    if tools is None:
        raise RuntimeError("no Chromium with chromedriver on this machine")
    browser = Browser(*tools, profile)
    try:
        yield browser
    finally:
        browser.quit()
