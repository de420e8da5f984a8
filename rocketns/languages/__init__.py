"""English and Chinese: the language of a program's texts, its catalogues (gettext), options and help in it."""

from rocketns.languages.texts import FOLDER as CATALOGUES
from rocketns.languages.texts import N_, choose, language, texts, use

__all__ = ["CATALOGUES", "N_", "choose", "language", "texts", "use"]
