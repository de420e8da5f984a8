"""Nothing of lenient_json.pyx is for compiled callers."""
