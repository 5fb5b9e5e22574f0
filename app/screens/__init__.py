"""The screens of the Textual front end."""
