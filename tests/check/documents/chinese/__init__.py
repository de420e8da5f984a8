"""The Chinese texts: held to the glossary, and each page beside its English one."""
