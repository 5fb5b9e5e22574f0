"""One question to many records: rows of a table, lines, files; each answer fits a schema. No code runs."""
