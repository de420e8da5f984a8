"""The figures of the report, drawn by matplotlib as SVG."""
