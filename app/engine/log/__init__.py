"""Everything that happens in a session, stored. Every event is written once, through one class, in order.

    Log          of one engine
    SessionLog   the door: `begin`, `append`, `seal` before anything runs, `end`
    LogWriter    the events of one session on their way into the store

There are three files, because each has a different lifetime:

    evidence     `audit/`: what ran and who approved it, each line linked to the one before by its hash, on disk
                 before anything runs. Digests instead of sources: it stays when the session is deleted
    text         `store/`: all of it, to resume, list and search. A person can delete it
    recording    `recording/`: all of it with its times, nothing merged, secrets withheld. Made on request, to share

We measured one file for everything: 8 KB of noise in the middle of 20,000 records costs a file of lines 28 of them, a
database 791 (median of 30 places). The digest of each source joins the three (`audit/agreement.py`).

Their readers never write: the list and the search, `oi-tui audit show` and `verify`, `oi-tui replay`.
"""
