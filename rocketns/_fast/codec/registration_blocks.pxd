"""Nothing of registration_blocks.pyx is for compiled callers."""
