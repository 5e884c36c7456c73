"""What the site does beyond mkdocs: notebooks are run and become pages, links out of docs/ plain text."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import notebooks  # noqa: E402

NAMED = re.compile(r"\[(?:docs/)?([\w-]+\.md)\](?=\(\1)")
OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)#]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Call pages by their titles, and only name what lies beside docs; run a notebook."""
    if page.file.src_uri.endswith(".ipynb"):
        return notebooks.page(HERE / page.file.src_uri)
    titles = dict(_titles(config.nav or []))
    markdown = NAMED.sub(lambda found: f"[{titles.get(found[1], found[1])}]", markdown)
    return OUTSIDE.sub(lambda found: f"{found[1]} (`{found[2]}`, in the repository)", markdown)


def _titles(nav: list[Any]) -> Iterator[tuple[str, str]]:
    """Yield file and title of every page of the list."""
    for entry in nav:
        for title, inside in entry.items():
            yield from _titles(inside) if isinstance(inside, list) else [(inside, title)]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Let notebooks be pages."""
    for file in [each for each in files if each.src_uri.endswith(".ipynb")]:
        files.remove(file)
        files.append(NotebookFile(file.src_uri, file.src_dir, file.dest_dir, file.use_directory_urls))
    return files


class NotebookFile(File):
    """A notebook, which is a page of documentation."""

    def is_documentation_page(self) -> bool:
        """Say that it is one."""
        return True
