"""The page in a real browser: no errors, no requests, and no sideways scrolling on a phone."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from teleembed_ray.lake import Lake
from teleembed_ray.report.page import build_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--enable-logging=stderr"]
# A window is never narrower than about 500 pixels, so the phone is a frame of 360. It shares its origin with the
# page around it, which can therefore measure it.
FRAME = """<!doctype html><iframe id="phone" style="width:360px;height:740px;border:0"></iframe><pre id="out"></pre>
<script>
const phone = document.getElementById("phone");
phone.onload = () => {
  const page = phone.contentDocument;
  page.querySelectorAll("details").forEach(details => { details.open = true; });
  document.getElementById("out").textContent = JSON.stringify({
    width: page.documentElement.scrollWidth, tables: page.querySelectorAll("table").length,
    requests: phone.contentWindow.performance.getEntriesByType("resource").map(entry => entry.name)});
};
phone.src = "index.html";
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")
def test_a_phone_scrolls_tables_and_not_the_page(full_lake: Lake, tmp_path: Path) -> None:
    folder = build_report(full_lake, tmp_path / "page", 3).parent
    (folder / "frame.html").write_text(FRAME, "utf-8")
    assert CHROMIUM is not None
    command = [
        CHROMIUM,
        *FLAGS,
        "--allow-file-access-from-files",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--virtual-time-budget=5000",
        "--dump-dom",
        (folder / "frame.html").as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    found = re.search(r'<pre id="out">(.*?)</pre>', done.stdout)
    assert found, done.stderr
    measured = json.loads(found[1])
    assert measured["width"] <= 360
    assert measured["tables"] >= 15
    assert measured["requests"] == []
    assert [line for line in done.stderr.splitlines() if ":CONSOLE" in line] == []
