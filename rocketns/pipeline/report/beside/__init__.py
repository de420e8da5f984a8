"""What is written beside the page: report.md for a chat, incidents.jsonl for programs."""
