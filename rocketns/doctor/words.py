"""The texts of the doctor in the user's language: ``_("… %(name)s") % {…}``, ``_.plural(one, many, n) % {…}``."""

from __future__ import annotations

from rocketns.languages import N_, texts

__all__ = ["N_", "_"]

_ = texts("doctor")
