"""What a person can invoke: one row a command; bindings, palette, slash commands, help and guide derive from it."""
