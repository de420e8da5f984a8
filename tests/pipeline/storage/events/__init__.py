"""What is ingested of a journal: files, lines, records that came twice, and the manifest."""
