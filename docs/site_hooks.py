"""What the site does beyond mkdocs: notebooks are run and become pages, links out of docs/ plain text."""

import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import notebooks  # noqa: E402

OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)#]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Name what lies beside docs/, which the site has not; a notebook's page is what it gives now."""
    if page.file.src_uri.endswith(".ipynb"):
        return notebooks.page(HERE / page.file.src_uri)
    return OUTSIDE.sub(lambda found: f"{found[1]} (`{found[2]}`, in the repository)", markdown)


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
