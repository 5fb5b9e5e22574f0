"""The audit log: decisions and runs, in a file that shows later changes. See README.md in this folder."""
