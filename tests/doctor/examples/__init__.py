"""One fault for each check, as facts: docs/doctor.md shows what the doctor says of them."""
