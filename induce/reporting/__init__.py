"""A report: one page that shows what models have learned, from what, and how good it is."""
