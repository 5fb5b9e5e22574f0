"""Recordings of runs: all that went in and out of the loop, with times; a bug report that can be played, and a test."""
