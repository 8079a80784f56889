"""The version of this program, as a home notes it, and where it lies. pyproject.toml has the same version."""

from pathlib import Path

VERSION = "0.3.0"
ROOT = Path(__file__).resolve().parents[2]
"""The checkout, or where the wheel is installed."""
