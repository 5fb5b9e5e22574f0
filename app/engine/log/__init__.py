"""What happens in a session, kept. Every event goes in once, by one door, in the order in which it happened.

    Log          of one engine
    SessionLog   the door: `begin`, `append`, `seal` before anything runs, `end`
    LogWriter    the events of one session on their way into the store

It comes to three files, because what is in them has three fates:

    evidence     `audit/`: what was run and by whose leave, each line linked to the one before by its hash, on disk
                 before anything runs. Digests instead of sources: it stays when the session is deleted
    text         `store/`: all of it, to be gone on with, listed, searched. A person can delete it
    recording    `recording/`: all of it with its times, nothing merged, secrets withheld. Made when asked for, to be
                 taken elsewhere

One file for all was weighed: 8 KB of noise in the middle of 20,000 records costs a file of lines 28 of them, a database
791 (median of 30 places). What joins the three is the digest of each source (`audit/agreement.py`).

Who looks at them only reads: the list and the search, `oi-tui audit show` and `verify`, `oi-tui replay`.
"""
