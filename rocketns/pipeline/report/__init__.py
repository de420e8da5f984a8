"""The report: one HTML file made from small plain tables. Nothing here knows Spark, a clock or the network."""
