"""The documentation site builds without a warning, and its pages load nothing from elsewhere."""

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OUTSIDE = re.compile(r"^\s*(?:https?:)?//", re.I)
# What a browser loads by itself; an <a> it does not.
LOADED = ("src", "srcset", "poster", "data", "action", "background")
# A <link> that only says where something is.
NOT_LOADED_RELS = {"canonical", "next", "prev", "alternate", "edit"}
STYLE_URL = re.compile(r"url\(\s*['\"]?\s*((?:https?:)?//[^)'\"]+)|@import\s+['\"]([^'\"]+)", re.I)
# What makes the theme's script fetch from elsewhere: diagrams, figures of a repository.
SCRIPT_LOADS = re.compile(r'class="mermaid"|data-md-component="source"')


class Loads(HTMLParser):
    """Collects the addresses that a page makes a browser load."""

    def __init__(self):
        super().__init__()
        self.outside = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        wanted = [values.get(name) or "" for name in LOADED if tag != "a"]
        if tag == "link" and not set((values.get("rel") or "").split()) <= NOT_LOADED_RELS:
            wanted.append(values.get("href") or "")
        wanted += [found for pair in STYLE_URL.findall(values.get("style") or "") for found in pair]
        self.outside += [f"<{tag}> {address}" for address in wanted if OUTSIDE.match(address)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site."""
    for tool in ("mkdocs", "material", "mkdocstrings_handlers"):
        if importlib.util.find_spec(tool) is None:
            pytest.skip(f"not built: there is no {tool} here (dependency group 'docs')")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return folder


def pages(site):
    found = sorted(site.rglob("*.html"))
    assert len(found) > 20
    return found


def test_pages_load_nothing_from_elsewhere(site):
    for page in pages(site):
        parser = Loads()
        text = page.read_text(encoding="utf-8")
        parser.feed(text)
        assert parser.outside == [], page.relative_to(site)
        for style in re.findall(r"<style[^>]*>(.*?)</style>", text, re.S):
            assert not STYLE_URL.search(style), page.relative_to(site)
        assert not SCRIPT_LOADS.search(text), page.relative_to(site)


def test_styles_load_nothing_from_elsewhere(site):
    styles = sorted(site.rglob("*.css"))
    assert styles
    for path in styles:
        assert not STYLE_URL.search(path.read_text(encoding="utf-8")), path.name


def test_a_page_with_an_outside_resource_is_found():
    for text in (
        '<script src="https://example.org/a.js"></script>',
        '<link rel="stylesheet" href="//example.org/a.css">',
        '<img src="http://example.org/a.png">',
        '<p style="background: url(https://example.org/a.png)">',
    ):
        parser = Loads()
        parser.feed(text)
        assert parser.outside, text
    parser = Loads()
    parser.feed('<a href="https://example.org">x</a><img src="a.png"><link rel="icon" href="b">')
    assert parser.outside == []


def test_every_page_of_docs_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    for path in (ROOT / "docs").glob("*.md"):
        assert f" {path.name}\n" in navigation, path.name


@pytest.mark.parametrize(
    ("package", "page"), [("pico_gz", "pico_gz"), ("pico_gz.testing", "testing")]
)
def test_every_public_name_is_in_the_reference(site, package, page):
    text = (site / f"api/{page}/index.html").read_text() + (
        site / "api/adapter/index.html"
    ).read_text()
    for name in importlib.import_module(package).__all__:
        if not name.startswith("_"):
            assert f"{package}.{name}" in text or f">{name}<" in text, name


def test_hooks_of_the_adapter_contract_are_described(site):
    text = (site / "api/adapter/index.html").read_text()
    for hook in ("_connect", "_add_vehicle", "_send_actuators", "_step"):
        assert hook in text
