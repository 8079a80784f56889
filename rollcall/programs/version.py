"""The version of this program, as a home notes it. Knows nothing else; pyproject.toml has the same."""

VERSION = "0.3.0"
