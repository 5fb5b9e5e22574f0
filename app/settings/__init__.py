"""Settings as a person meets them: what each means, where it comes from, how it is changed, and what that does."""
