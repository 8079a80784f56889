"""The wheel's extras: the packages of each, what to install if one is missing, and what a program does without.

Knows the names by which packages are imported. Must not import one, nor know what needs it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType

from rollcall.programs.errors import UserError
from rollcall.programs.version import VERSION

EXTRAS = {
    "history": (
        *("confluent_kafka", "deltalake", "duckdb", "jinja2", "kio", "prometheus_client", "pyarrow", "sqlglot"),
        *("starlette", "uvicorn"),
    ),
    "spark": ("delta", "kafka", "numpy", "pandas", "py4j", "pyspark"),
}
"""The packages of each; `spark` has those of `history` too. pyproject.toml has their versions."""
SPARK = "pyspark"


class MissingExtra(UserError):
    """A package that is not installed; the text says what needs it, and the line that installs it."""


def missing_extra(error: ModuleNotFoundError, what: str) -> MissingExtra | None:
    """Return the sentence for a failed import. None: no extra has that package. what: what needs it."""
    package = (error.name or "").partition(".")[0]
    extra = next((extra for extra, packages in EXTRAS.items() if package in packages), None)
    if extra is None:
        return None
    # With its version, since another project of this name is published.
    line = f"pip install 'rollcall[{extra}]=={VERSION}'"
    return MissingExtra(f"{what} needs {package}, which is not installed: {line}")


def check_installed(package: str) -> None:
    """Raise ModuleNotFoundError if a package is missing: for what would import it late, or after others."""
    if find_spec(package) is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)


@contextmanager
def naming_extra(what: str) -> Iterator[None]:
    """Raises MissingExtra for a failed import of an extra's package. what: what needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_extra(error, what) or error from None


class _LeftOut:
    """A finder that says of one package, before others find it, that it is not installed."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if name == self._package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@contextmanager
def left_out(package: str) -> Iterator[None]:
    """The body runs as if the package were not installed; one that is loaded stays."""
    finder = _LeftOut(package)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
