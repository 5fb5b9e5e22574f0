"""Agent Skills, and functions kept from sessions.

The person's skills lie in a folder beside our own ones, because code in the sandbox may read it, and no more than read;
those of a project are used as the person saw them when they trusted it. Kept functions lie among our own data.
"""
