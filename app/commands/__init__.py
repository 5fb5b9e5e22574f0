"""What a person can invoke: one row a command; bindings, palette, slash commands, help and README derive from it."""
