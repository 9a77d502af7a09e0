"""Hooks: what MkDocs doesn't do by itself for this site.

- Pages that lie outside docs/ (ARCHITECTURE.md, ...), the reference and the notebooks become pages, too.
- Links are written for GitHub, from file to file of the project. Here they lead to pages; links to sources, which
  are no part of the site, become plain text.
- A public name of Python in a page of the guide, as `Snapshot.pagerank`, leads to the reference. One that isn't
  there fails the build.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Callable
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

# `make docs` runs this file from the project's root, without a package around it.
sys.path.insert(0, str(Path(__file__).parent))
import reference

ROOT = Path(__file__).parents[2]
# Where run_notebooks.py put what it ran.
NOTEBOOKS = Path(os.environ.get("EVERGRAPH_NOTEBOOKS", ROOT / "target" / "notebooks"))
# Files of the project that are pages here, by their place in the site.
ELSEWHERE = {
    "project/architecture.md": "ARCHITECTURE.md",
    "project/changelog.md": "CHANGELOG.md",
    "project/contributing.md": "CONTRIBUTING.md",
}
# What pages link to, where the site has it: the home page says what README.md does, the reference what sources do.
PLACES = {source: place for place, source in ELSEWHERE.items()} | {
    "README.md": "index.md",
    "python/evergraph/algorithms/__init__.py": "reference/algorithms.md",
    **{f"python/evergraph/{name}.py": f"reference/{name}.md" for name in ("errors", "progress", "values")},
}

LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)(?P<title>\s[^)]*)?\)")
CODE = re.compile(
    r"(?<![\[`])`(?P<module>eg\.|evergraph\.)?(?P<name>[A-Za-z_]\w*(?:\.\w+)?)(?P<call>\([^`]*\))?`(?![`\]])"
)

# What makes a browser load something, if it is on another machine.
LOADS = {
    ".html": re.compile(
        r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href|srcset)=[\x22\x27]?(?:https?:)?//[^>]*>"
    ),
    ".css": re.compile(r"(?:@import|url\()\s*[\x22\x27]?(?:https?:)?//\S+"),
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that don't lie in docs/."""
    for place, source in ELSEWHERE.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text()))
    for place, text in reference.pages():
        files.append(File.generated(config, place, content=text))
    for notebook in sorted(Path(config.docs_dir).glob("notebooks/*.ipynb")):
        if not (NOTEBOOKS / f"{notebook.stem}.md").exists():
            raise PluginError(f"{notebook.name} hasn't been run: `make docs` does, and puts it into {NOTEBOOKS}")
        for made in sorted(NOTEBOOKS.glob(f"{notebook.stem}*")):
            files.append(File.generated(config, f"notebooks/{made.name}", abs_src_path=str(made)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links and names to where the site has them."""
    place = page.file.src_uri
    if place == "index.md":
        # The home page has the whole width.
        page.meta["hide"] = ["navigation", "toc"]
    if place.startswith("reference/"):
        return markdown
    source = ELSEWHERE.get(place, f"docs/{place}")
    linked = _outside_code(markdown, lambda text: LINK.sub(lambda link: _led(link, source, place, files), text))
    if not place.startswith(("guide/", "index.md", "notebooks/")):
        return linked
    return _outside_code(linked, lambda text: CODE.sub(_named, text))


def _outside_code(markdown: str, change: Callable[[str], str]) -> str:
    """Change the text that is neither code nor a heading."""
    changed, text, fence = [], [], ""
    for line in [*markdown.splitlines(keepends=True), ""]:
        mark = re.match(r"\s*(```+|~~~+)", line)
        kept = bool(fence or mark or not line or line.startswith(("#", "    ")))
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip() == fence:
            fence = ""
        if not kept:
            # Links and names may go on in the next line.
            text.append(line)
            continue
        changed += [change("".join(text)), line]
        text = []
    return "".join(changed)


def _led(link: re.Match[str], source: str, place: str, files: Files) -> str:
    """A link of the file `source` as the page at `place` has it."""
    target, _, anchor = link["target"].partition("#")
    if not target or "://" in target or target.startswith("mailto:"):
        return link[0]
    found = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    if (ROOT / found).is_dir():
        found += "/README.md"
    there = PLACES.get(found, found.removeprefix("docs/"))
    if found.endswith(".ipynb"):
        there = there.removesuffix(".ipynb") + ".md"
    page = files.get_file_from_path(there)
    if page is None or page.inclusion.is_excluded():
        if not (ROOT / found).exists():
            raise PluginError(f"{source}: the link {link['target']} points to nothing")
        # Sources aren't part of the site.
        return link["text"]
    anchor = f"#{anchor}" if anchor and found != "README.md" else ""
    to = posixpath.relpath(there, posixpath.dirname(place) or ".")
    return f"{link['image']}[{link['text']}]({to}{anchor}{link['title'] or ''})"


def _named(code: re.Match[str]) -> str:
    """A name of Python as a link to the reference, if it is a public one."""
    first = code["name"].partition(".")[0]
    if first not in reference.PUBLIC or (first == "open" and not code["module"]):
        return code[0]
    return f"[{code[0]}][evergraph.{code['name']}]"


def on_post_build(config: MkDocsConfig) -> None:
    """Demand that a reader's browser asks nobody but this site."""
    for path in sorted(Path(config.site_dir).rglob("*")):
        if path.suffix in LOADS and (asked := LOADS[path.suffix].search(path.read_text())):
            raise PluginError(f"{path} loads something from elsewhere: {asked[0]}")
