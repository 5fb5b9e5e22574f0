"""Settings as a person meets them: what each means, where it comes from, changes of the person's file and their effect."""
