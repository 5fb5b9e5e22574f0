"""The loop between a model, the person who decides, and the kernels."""
