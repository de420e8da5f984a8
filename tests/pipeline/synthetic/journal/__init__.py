"""From the plan to journal files: what each name server would have written."""
