"""Rich results as rows: one module for each way to draw one, and the registry that chooses."""
