"""Strangers whose steps are drawn from a grammar by seed, on every port that the server listens at and on every
connection that it opens itself, with honest peers beside them; then what remains.

``judging/bounds.py`` has the bounds.
"""
