"""The page, the report, the metrics and the switch of a shadow."""
