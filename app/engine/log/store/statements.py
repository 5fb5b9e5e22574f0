"""All SQL; other modules use the names.

One row of `events` is one event; `seq` grows within a session and may have gaps (merged pieces) and values below 1
(events shared with a session that is gone). A search reads `texts`; `search` is its index, without text. `id` in both
encodes the kind and time of the text (see `words`), so the newest of a kind come first without sorting.
"""

from typing import Final

SCHEMA_1 = (
    """
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY, created REAL NOT NULL, active REAL NOT NULL,
        cwd TEXT NOT NULL, title TEXT NOT NULL DEFAULT ''
    )
    """,
    """
    CREATE TABLE events (
        session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        seq INTEGER NOT NULL, at REAL NOT NULL, event TEXT NOT NULL,
        PRIMARY KEY (session_id, seq)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX sessions_active ON sessions(active)",
    "CREATE TABLE remembered (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
)

SCHEMA_2 = (
    "ALTER TABLE sessions ADD COLUMN titled TEXT NOT NULL DEFAULT ''",  # by whom: prompt, model, person
    "ALTER TABLE sessions ADD COLUMN model TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE sessions ADD COLUMN tags TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE sessions ADD COLUMN turns INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE sessions ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE sessions ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE sessions ADD COLUMN cost REAL",
    "ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE sessions ADD COLUMN deleted REAL NOT NULL DEFAULT 0",  # when; 0 if it is not
    "ALTER TABLE sessions ADD COLUMN parent_id TEXT",  # for the eye; what is shared says the base
    "ALTER TABLE sessions ADD COLUMN base_id TEXT REFERENCES sessions(id)",
    "ALTER TABLE sessions ADD COLUMN base_seq INTEGER NOT NULL DEFAULT 0",
    # Up to here `texts` is complete; below 0 see `rows.Row.indexed`.
    "ALTER TABLE sessions ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0",
    "UPDATE sessions SET indexed = -1, titled = CASE title WHEN '' THEN '' ELSE 'prompt' END",
    "CREATE INDEX sessions_behind ON sessions(active) WHERE indexed < 0",
    "CREATE INDEX sessions_base ON sessions(base_id) WHERE base_id IS NOT NULL",
    "CREATE INDEX sessions_parent ON sessions(parent_id) WHERE parent_id IS NOT NULL",
    "CREATE INDEX sessions_deleted ON sessions(deleted) WHERE deleted > 0",
    "ALTER TABLE events ADD COLUMN blobs TEXT",  # mime type -> file, for outputs stored outside the event
    """
    CREATE TABLE blob_uses (
        digest TEXT NOT NULL, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        PRIMARY KEY (digest, session_id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX blob_uses_session ON blob_uses(session_id)",
    """
    CREATE TABLE texts (
        id INTEGER PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        block_id TEXT NOT NULL, seq INTEGER NOT NULL, text TEXT NOT NULL
    )
    """,
    "CREATE INDEX texts_session ON texts(session_id, block_id)",
    """
    CREATE VIRTUAL TABLE search USING fts5(
        text, content = 'texts', content_rowid = 'id', columnsize = 0,
        tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3 4'
    )
    """,
    """
    CREATE TRIGGER texts_added AFTER INSERT ON texts BEGIN
        INSERT INTO search(rowid, text) VALUES (new.id, new.text);
    END
    """,
    """
    CREATE TRIGGER texts_gone AFTER DELETE ON texts BEGIN
        INSERT INTO search(search, rowid, text) VALUES ('delete', old.id, old.text);
    END
    """,
    # Titles can be searched at once, the rest when its session has been looked at. 4 << 44: see `words.KINDS`.
    """
    INSERT INTO texts (id, session_id, block_id, seq, text)
    SELECT (4 << 44) + row_number() OVER (ORDER BY active), id, '', 0, title FROM sessions WHERE title <> ''
    """,
)

MIGRATIONS: Final = (SCHEMA_1, SCHEMA_2)
"""Statements that migrate each schema to the next; `PRAGMA user_version` counts them."""

BEGIN: Final = "BEGIN IMMEDIATE"
COMMIT: Final = "COMMIT"
ROLLBACK: Final = "ROLLBACK"

READ_VERSION: Final = "PRAGMA user_version"
WRITE_VERSION: Final = "PRAGMA user_version = {}"
READ_JOURNAL: Final = "PRAGMA journal_mode"
USE_WAL: Final = "PRAGMA journal_mode = WAL"
SET_UP: Final = ("PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON")
SYNC_EACH, SYNC_LATER = SET_UP[0], "PRAGMA synchronous = NORMAL"
"""Whether a commit waits for the disk. Without that, a journal that is a WAL is still whole after a loss of power, and
lacks the last commits."""
BE_PATIENT: Final = "PRAGMA busy_timeout = {}"
CHECK: Final = "PRAGMA quick_check(5)"
COUNT_SESSIONS: Final = "SELECT count(*) FROM sessions"

# -- sessions

COLUMNS: Final = (
    "id, created, active, cwd, title, model, tags, turns, input_tokens, output_tokens, cost, archived, deleted,"
    " parent_id, titled, base_id, base_seq, indexed"
)
"""In the order of `store.Row`."""

CREATE: Final = "INSERT INTO sessions (id, created, active, cwd) VALUES (?, ?, ?, ?)"
INHERIT: Final = """
    UPDATE sessions SET parent_id = ?, base_id = ?, base_seq = ?, title = ?, tags = ?, model = ?, turns = ? WHERE id = ?
"""
SESSION: Final = f"SELECT {COLUMNS} FROM sessions WHERE id = ?"
SESSIONS: Final = f"""
    SELECT {COLUMNS} FROM sessions
    WHERE deleted = 0 AND archived = :archived AND (:cwd IS NULL OR cwd = :cwd)
    ORDER BY active DESC LIMIT :limit
"""
IDS_LIKE: Final = "SELECT id FROM sessions WHERE id >= ?1 AND substr(id, 1, length(?1)) = ?1 LIMIT 10"
DESCRIBE: Final = """
    UPDATE sessions SET active = ?, model = ?, turns = ?, input_tokens = ?, output_tokens = ?, cost = ?, indexed = ?
    WHERE id = ?
"""
EDIT: Final = "UPDATE sessions SET title = ?, titled = ?, tags = ?, archived = ?, deleted = ? WHERE id = ?"
BRING_BACK: Final = "UPDATE sessions SET deleted = 0 WHERE id = ?"
ACTIVE: Final = "UPDATE sessions SET active = ? WHERE id = ?"
BEHIND: Final = "SELECT id FROM sessions WHERE indexed < 0 ORDER BY active DESC LIMIT 1"
COUNT_BEHIND: Final = "SELECT count(*) FROM sessions WHERE indexed < 0"
GIVE_UP: Final = """
    UPDATE sessions SET indexed = (SELECT coalesce(max(seq), 0) FROM events WHERE session_id = sessions.id)
    WHERE id = ?
"""
LONG_DELETED: Final = "SELECT id FROM sessions WHERE deleted > 0 AND deleted < ? LIMIT 20"
REMOVE: Final = "DELETE FROM sessions WHERE id = ?"

# -- events

LAST: Final = "SELECT coalesce(max(seq), 0) FROM events WHERE session_id = ?"
APPEND: Final = "INSERT INTO events (session_id, seq, at, event, blobs) VALUES (?, ?, ?, ?, ?)"
EVENTS: Final = "SELECT event, blobs FROM events WHERE session_id = ? AND seq <= ? ORDER BY seq"
LAST_EVENTS: Final = "SELECT event, blobs FROM events WHERE session_id = ? AND seq <= ? ORDER BY seq DESC LIMIT ?"
EVENTS_AFTER: Final = "SELECT seq, at, event FROM events WHERE session_id = ? AND seq > ? ORDER BY seq"
EVENTS_BETWEEN: Final = "SELECT seq, at, event FROM events WHERE session_id = ? AND seq > ? AND seq <= ? ORDER BY seq"
COUNT: Final = "SELECT count(*) FROM events WHERE session_id = ? AND seq <= ?"
NTH: Final = "SELECT seq FROM events WHERE session_id = ? ORDER BY seq LIMIT 1 OFFSET ?"
TURNS: Final = """
    SELECT count(*) FROM events WHERE session_id = ? AND seq <= ? AND event LIKE '{"type":"TurnStarted"%'
"""
REWRITE: Final = "UPDATE events SET event = ? WHERE session_id = ? AND seq = ?"
DROP: Final = "DELETE FROM events WHERE session_id = ? AND seq = ?"

# -- what is shared

SHARED: Final = "SELECT coalesce(max(base_seq), -9223372036854775808) FROM sessions WHERE base_id = ?"
HEIRS: Final = "SELECT id, base_seq FROM sessions WHERE base_id = ?"
FIRST: Final = "SELECT min(1, coalesce(min(seq), 1)) FROM events WHERE session_id = ?"
BEQUEATH: Final = """
    INSERT INTO events (session_id, seq, at, event, blobs)
    SELECT :heir, seq - :last + :first - 1, at, event, blobs FROM events WHERE session_id = :id AND seq <= :last
"""
BEQUEATH_BLOBS: Final = """
    INSERT OR IGNORE INTO blob_uses (digest, session_id) SELECT digest, :heir FROM blob_uses WHERE session_id = :id
"""
REBASE: Final = "UPDATE sessions SET base_id = ?, base_seq = ?, indexed = -1 WHERE id = ?"
REPARENT: Final = "UPDATE sessions SET parent_id = ? WHERE parent_id = ?"

# -- large outputs

USE_BLOB: Final = "INSERT OR IGNORE INTO blob_uses (digest, session_id) VALUES (?, ?)"
BLOBS_OF: Final = "SELECT digest FROM blob_uses WHERE session_id = ?"
WHOLES_OF: Final = """
    SELECT event FROM events WHERE session_id = ? AND event LIKE '{"type":"OutputKept"%'
"""
WHOLES_INHERITED: Final = """
    SELECT event FROM sessions CROSS JOIN events ON events.session_id = sessions.id
    WHERE seq < 1 AND event LIKE '{"type":"OutputKept"%'
"""
"""Two sessions name the same file only if both inherited it from a deleted one."""
BLOB_USED: Final = "SELECT 1 FROM blob_uses WHERE digest = ? LIMIT 1"

# -- what a search looks through

NEWEST_ID: Final = "SELECT max(id) FROM texts WHERE id BETWEEN ? AND ?"
ADD_TEXT: Final = "INSERT INTO texts (id, session_id, block_id, seq, text) VALUES (?, ?, ?, ?, ?)"
DROP_TEXT: Final = "DELETE FROM texts WHERE session_id = ? AND block_id = ? AND id BETWEEN ? AND ?"
DROP_TEXTS: Final = "DELETE FROM texts WHERE session_id = ? AND block_id <> ''"
MATCHES: Final = """
    SELECT search.rowid, texts.session_id FROM search
    CROSS JOIN texts ON texts.id = search.rowid CROSS JOIN sessions ON sessions.id = texts.session_id
    WHERE search MATCH ? AND search.rowid BETWEEN ? AND ? AND sessions.deleted = 0 AND sessions.archived = ?
    ORDER BY search.rowid DESC LIMIT ?
"""
TEXT: Final = "SELECT text, block_id FROM texts WHERE id = ?"
PROMPTS: Final = """
    SELECT texts.id, json_extract(events.event, '$.text'), events.at, sessions.id, sessions.cwd FROM texts
    CROSS JOIN sessions ON sessions.id = texts.session_id AND sessions.deleted = 0
    CROSS JOIN events ON events.session_id = texts.session_id AND events.seq = texts.seq
    WHERE texts.id BETWEEN ? AND ? ORDER BY texts.id DESC LIMIT ?
"""
FORGET_SEARCH: Final = (
    "DROP TRIGGER texts_gone",
    "DELETE FROM texts",
    # FTS5 drops no table that it cannot open: what an empty index consists of comes first.
    "DELETE FROM search_data",
    "INSERT INTO search_data (id, block) VALUES (1, x''), (10, x'00000000000000')",
    "DROP TABLE search",
    *(statement for statement in SCHEMA_2 if "VIRTUAL TABLE search" in statement or "TRIGGER texts_gone" in statement),
    "INSERT INTO texts (id, session_id, block_id, seq, text)"
    " SELECT (4 << 44) + row_number() OVER (ORDER BY active), id, '', 0, title FROM sessions WHERE title <> ''",
    "UPDATE sessions SET indexed = -1",
)
"""Rebuild a damaged index from nothing; its texts are read again from the events."""

# -- facts

REMEMBER: Final = "INSERT OR REPLACE INTO remembered (key, value) VALUES (?, ?)"
RECALL: Final = "SELECT value FROM remembered WHERE key = ?"
