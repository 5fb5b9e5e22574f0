"""Who may run what: rules, what can be read off a source before it runs, and the decision. Pure: no file is touched."""
