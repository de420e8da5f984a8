"""The catalogue of the jobs, the schema, and the page of tables."""
