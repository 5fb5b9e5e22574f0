"""Kernels: what runs code and keeps state between runs."""
