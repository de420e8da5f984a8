"""The report: one HTML file made from small plain tables. No Spark session, no clock, no network."""
