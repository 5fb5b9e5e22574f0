"""Agent Skills, and functions kept from sessions.

The person's skills are in a folder beside our own ones, which code in the sandbox may read and not change; those of a
project are used as the person saw them when they trusted it. Kept functions are among our own data.
"""
