"""The documentation site: the files of docs/ prepared for MkDocs, in both languages."""
