"""Where code comes from: Python itself, what is installed, this program, the user; and digests of files."""

import hashlib
import site
import sysconfig
from functools import cache, lru_cache
from pathlib import Path

from dpaccount_packages import folders

FOLDER = "directory"  #: in the place of a digest
OURS = {name: Path(folder).resolve() for name, folder in folders().items()}


@lru_cache(maxsize=1)
def _python() -> tuple[str, ...]:
    return tuple(str(Path(sysconfig.get_path(kind)).resolve()) for kind in ("stdlib", "platstdlib"))


@lru_cache(maxsize=1)
def _installed() -> tuple[str, ...]:
    found = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()]
    return tuple(str(Path(path).resolve()) for path in [*found, site.getusersitepackages()])


@cache
def origin(file: str) -> str:
    """Return ``python``, ``installed``, ``ours`` or ``theirs`` for a file: who must have changed it."""
    if file.startswith("<"):
        return "python"
    path = Path(file).resolve()
    if any(path.is_relative_to(folder) for folder in _installed()):
        return "installed"
    if any(path.is_relative_to(folder) for folder in _python()):
        return "python"
    return "ours" if any(map(path.is_relative_to, OURS.values())) else "theirs"


def digest(path: str | Path) -> str | None:
    """Return what a file holds as a digest, ``directory`` for a folder, None for what is not there.

    A symbolic link says where it leads, too.
    """
    try:
        return _link(path) + FOLDER if Path(path).is_dir() else digest_of(path, Path(path).read_bytes())
    except (OSError, ValueError):
        return None


def digest_of(path: str | Path, content: bytes) -> str:
    """Return what `digest` says of a file that holds `content`."""
    return _link(path) + hashlib.sha256(content).hexdigest()


def _link(path: str | Path) -> str:
    return f"{Path(path).readlink()} " if Path(path).is_symlink() else ""


def listing(path: str | Path) -> str | None:
    """Return what listing a folder tells, names and sizes, as a digest; None where it cannot be listed."""
    try:
        entries = sorted(_entry(each) for each in Path(path).iterdir() if each.name != "__pycache__")
    except (OSError, ValueError):
        return None
    return text_digest("\n".join(entries))


def _entry(path: Path) -> str:
    return f"{path.name} {_link(path)}{FOLDER if path.is_dir() else path.lstat().st_size}"


def text_digest(text: str) -> str:
    """Return the digest of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


@lru_cache(maxsize=1)
def packages() -> str:
    """Return a digest of what is installed: names with versions, and files that Python reads at start."""
    started = [file for folder in _installed() for file in sorted(Path(folder).glob("*.pth"))]
    return text_digest("\n".join(map(str, [*map(listing, _installed()), *map(digest, started)])))


@lru_cache(maxsize=1)
def program() -> str:
    """Return the digest of this program: every verdict is one of its attacks."""
    files = [(name, folder, file) for name, folder in OURS.items() for file in folder.rglob("*.py")]
    said = sorted(f"{name / file.relative_to(folder)} {digest(file)}" for name, folder, file in files)
    return text_digest("\n".join(said))
