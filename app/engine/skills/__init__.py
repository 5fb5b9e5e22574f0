"""Agent Skills of the person: folders with a `SKILL.md`, scripts and other files, read by a model when it needs them.

They lie in a folder beside our own ones, because code in the sandbox may read it, and no more than read. What a project
brings is not used: `oi-tui skills add` copies it here, once somebody looked at it.
"""
