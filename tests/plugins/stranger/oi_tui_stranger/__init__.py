"""A stranger's package: every hook there is, through the one page that plugins import."""
