"""The jobs on journals, through Spark, compared with rows computed by hand. State, windows and incidents are compared
with their twins in ``duck/``."""
