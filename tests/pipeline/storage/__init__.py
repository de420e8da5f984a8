"""Files and what is kept in them: ingest, results, alerts, the stream's memory."""
