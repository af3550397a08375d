#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the documentation as a site and looks at what came out: check_site.py BIN_FOLDER OUTPUT

- every .md of the project is a page: it stands in docs/contents.txt;
- Sphinx has no warning, and the gallery's commands print what the page says (docs/build_site);
- every link and picture leads to a file of the site, and every anchor to an element there;
- the gallery has ten reports; each picture of docs/images is shown, and small;
- no page and no style sheet asks for anything of another host;
- where Chromium is installed: pages open without an error, the search finds pages, and the theme can be changed.

Exit code 77: Sphinx is not installed, or COLLAGE_SKIP says why the site is not checked.
"""
import html.parser
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests/browser"))
from chromium import Chromium, find  # noqa: E402

LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
MOST_BYTES = 150_000  # of a picture
PROBLEMS = []


def problem(text):
    PROBLEMS.append(text)
    print(text)


class Page(html.parser.HTMLParser):
    """Links, what is loaded, and the ids of elements."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.ids = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if given.get(LOADS.get(tag)):
            self.loads.append(given[LOADS[tag]])


def check_contents():
    listed = {line.strip() for line in (SOURCE / "docs/contents.txt").read_text().splitlines() if line.startswith("  ")}
    present = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.md")
               if not path.relative_to(SOURCE).parts[0].startswith((".", "build"))}
    for path in sorted(present - listed):
        problem(f"{path} has no line in docs/contents.txt")
    for path in sorted(listed - present):
        problem(f"docs/contents.txt: {path} does not exist")


def check_links(site):
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html") if "gallery" not in path.relative_to(site).parts[:1]}
    links = 0
    for path, page in sorted(pages.items()):
        name = path.relative_to(site)
        for address in page.loads:
            if re.match(r"(\w+:)?//|\w+:", address) and not address.startswith("data:"):
                problem(f"{name}: loads {address}")
        for address in page.links + page.loads:
            if re.match(r"(\w+:)?//|\w+:", address):
                continue
            links += 1
            file, _, anchor = urllib.parse.unquote(address).partition("#")
            target = (path.parent / file.split("?")[0]).resolve() if file else path
            if not target.is_file():
                problem(f"{name}: the link {address} leads nowhere")
            elif anchor and target in pages and anchor not in pages[target].ids:
                problem(f"{name}: {address} has no such anchor")
    for path in site.rglob("*.css"):
        for address in re.findall(r"(?:url\(|@import )[\"']?((?:https?:)?//[^\"')]+|/[^\"')]+)", path.read_text(encoding="utf-8")):
            problem(f"{path.relative_to(site)}: asks for {address}")
    return len(pages), links


def check_gallery(site):
    reports = sorted(path.stem for path in (site / "gallery").glob("*.html"))
    linked = set(re.findall(r'href="gallery/(\w+)\.html"', (site / "gallery.html").read_text()))
    if len(reports) < 10 or set(reports) - linked:
        problem(f"gallery: {len(reports)} reports, without a link {sorted(set(reports) - linked)}")
    return len(reports)


def check_pictures(site):
    """Each is small, and shown by a page."""
    shown = {path.name for path in (site / "_images").iterdir()}
    for path in (SOURCE / "docs/images").iterdir():
        if path.name not in shown:
            problem(f"docs/images/{path.name} is on no page")
        if path.stat().st_size > MOST_BYTES:
            problem(f"docs/images/{path.name} has {path.stat().st_size} bytes, {MOST_BYTES} are permitted")


def check_in_browser(site):
    if find() is None:
        print("no Chromium: search and theme were not tried")
        return
    with Chromium() as browser:
        for name in ("index.html", "grammar/rules.html", "tutorials/report.html", "reference/collagec.html"):
            page = browser.open(site / name)
            page.wait("document.readyState == 'complete'")
            # What a page loads of its own folders is in order.
            for text in page.errors():
                if not text.startswith("asks for file://"):
                    problem(f"{name}: {text}")
        page.wait("document.querySelector('.theme-toggle')")
        before = page.run("document.body.dataset.theme")
        page.run("document.querySelector('.theme-toggle-content .theme-toggle, .theme-toggle').click()")
        if page.run("document.body.dataset.theme") == before:
            problem("the theme does not change")
        page = browser.open(site / "search.html")
        for word, wanted in (("certificate", "tutorials/certificate.html"), ("CG0301", "reference/diagnostics.html"), ("workspace", "grammar/rules.html")):
            page.call("Page.navigate", url=f"file://{(site / 'search.html').resolve()}?q={word}")
            try:
                page.wait(f"[...document.querySelectorAll('#search-results a')].some(a => a.href.includes('{wanted}'))", 20)
            except RuntimeError:
                problem(f"the search for {word} does not find {wanted}")


def main():
    if "COLLAGE_SKIP" in os.environ:
        print("skipped: " + os.environ["COLLAGE_SKIP"])
        sys.exit(77)
    tools, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    done = subprocess.run([sys.executable, SOURCE / "docs/build_site", tools, output], check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    check_contents()
    site = (output / "html").resolve()
    pages, links = check_links(site)
    reports = check_gallery(site)
    check_pictures(site)
    check_in_browser(site)
    print(f"{pages} pages, {links} links and anchors, {reports} reports, {len(PROBLEMS)} problems")
    sys.exit(1 if PROBLEMS else 0)


if __name__ == "__main__":
    main()
