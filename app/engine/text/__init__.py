"""Text in and out, pure: made safe, Markdown, HTML, plain, the forms of a result."""
