"""What was decided and run, in a file that shows whether it was changed afterwards. See README.md beside this file."""
