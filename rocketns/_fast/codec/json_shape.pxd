"""Nothing of json_shape.pyx is for compiled callers."""
