"""The tables, as forward-only migrations, and what is done when a file is not ours to migrate.

Plain table names, integer ids, ISO times, JSON arrays and a view per common question: Datasette opens the file as it is. Rows of
``findings`` are narrow on purpose; texts are in ``blobs``, what is searched by is in ``finding_*`` tables.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from store.connect import Connection
from store.errors import StoreError

if TYPE_CHECKING:
    from sqlite_utils import Database

NAME = "workbench-store"
OLDEST_SQLITE = (3, 35, 0)
"""The first with UPDATE ... RETURNING."""

_FIRST = """
CREATE TABLE blobs (
    id INTEGER PRIMARY KEY, sha TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, size INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE TABLE buckets (
    id INTEGER PRIMARY KEY, title TEXT NOT NULL, signature TEXT NOT NULL, stage TEXT, symptoms TEXT NOT NULL,
    leader_id INTEGER REFERENCES findings(id), created TEXT NOT NULL
);
CREATE TABLE signatures (
    id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, bucket_id INTEGER NOT NULL REFERENCES buckets(id), final INTEGER NOT NULL
);
CREATE INDEX signatures_bucket ON signatures(bucket_id);
CREATE TABLE campaigns (
    id INTEGER PRIMARY KEY, state TEXT NOT NULL, started TEXT NOT NULL, updated TEXT NOT NULL, finished TEXT,
    settings TEXT NOT NULL, counters TEXT NOT NULL
);
CREATE TABLE findings (
    id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, title TEXT NOT NULL, state TEXT NOT NULL,
    bucket_id INTEGER NOT NULL REFERENCES buckets(id), signature_id INTEGER NOT NULL REFERENCES signatures(id),
    stage TEXT, symptoms TEXT NOT NULL, guilty TEXT, labels TEXT NOT NULL DEFAULT '[]', assignee TEXT NOT NULL DEFAULT '',
    origin TEXT NOT NULL, seed TEXT, characteristic TEXT, code TEXT NOT NULL, mutators TEXT NOT NULL,
    backend TEXT NOT NULL, dtype TEXT NOT NULL, ops TEXT NOT NULL, configuration TEXT NOT NULL,
    torch TEXT NOT NULL, torch_key TEXT NOT NULL, fixed_torch TEXT NOT NULL DEFAULT '',
    count INTEGER NOT NULL DEFAULT 1, reduction TEXT NOT NULL DEFAULT 'none', statements INTEGER NOT NULL,
    created TEXT NOT NULL, seen TEXT NOT NULL,
    program_id INTEGER NOT NULL REFERENCES blobs(id), verdict_id INTEGER NOT NULL REFERENCES blobs(id),
    reduced_id INTEGER REFERENCES blobs(id), reduced_verdict_id INTEGER REFERENCES blobs(id),
    duplicate_of INTEGER REFERENCES findings(id), verified INTEGER NOT NULL DEFAULT 0, verified_runs INTEGER NOT NULL DEFAULT 0,
    campaign_id INTEGER REFERENCES campaigns(id), deleted TEXT
);
CREATE INDEX findings_live ON findings(id) WHERE deleted IS NULL;
CREATE INDEX findings_deleted ON findings(id) WHERE deleted IS NOT NULL;
CREATE INDEX findings_state ON findings(state) WHERE deleted IS NULL;
CREATE INDEX findings_stage ON findings(stage) WHERE deleted IS NULL;
CREATE INDEX findings_code ON findings(code) WHERE deleted IS NULL;
CREATE INDEX findings_dtype ON findings(dtype) WHERE deleted IS NULL;
CREATE INDEX findings_backend ON findings(backend) WHERE deleted IS NULL;
CREATE INDEX findings_bucket ON findings(bucket_id, count) WHERE deleted IS NULL;
CREATE INDEX findings_torch ON findings(torch_key) WHERE deleted IS NULL;
CREATE INDEX findings_created ON findings(created) WHERE deleted IS NULL;
CREATE INDEX findings_seen ON findings(seen) WHERE deleted IS NULL;
CREATE INDEX findings_statements ON findings(statements) WHERE deleted IS NULL;
CREATE INDEX findings_assignee ON findings(assignee) WHERE deleted IS NULL;
CREATE INDEX findings_count ON findings(count) WHERE deleted IS NULL;
CREATE INDEX findings_title ON findings(title) WHERE deleted IS NULL;
CREATE INDEX findings_reduction ON findings(reduction) WHERE deleted IS NULL;
CREATE TABLE finding_labels (
    label TEXT NOT NULL, finding_id INTEGER NOT NULL REFERENCES findings(id), PRIMARY KEY (label, finding_id)
) WITHOUT ROWID;
CREATE INDEX finding_labels_finding ON finding_labels(finding_id);
CREATE TABLE finding_symptoms (
    symptom TEXT NOT NULL, finding_id INTEGER NOT NULL REFERENCES findings(id), PRIMARY KEY (symptom, finding_id)
) WITHOUT ROWID;
CREATE TABLE finding_ops (
    op TEXT NOT NULL, finding_id INTEGER NOT NULL REFERENCES findings(id), PRIMARY KEY (op, finding_id)
) WITHOUT ROWID;
CREATE INDEX finding_ops_finding ON finding_ops(finding_id);
CREATE VIRTUAL TABLE findings_fts USING fts5(title, ops, program, tokenize = 'unicode61');
CREATE TABLE reductions (
    finding_id INTEGER PRIMARY KEY REFERENCES findings(id), progress TEXT, statistics TEXT, updated TEXT NOT NULL
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, finding_id INTEGER NOT NULL REFERENCES findings(id), purpose TEXT NOT NULL, outcome TEXT NOT NULL,
    configuration TEXT NOT NULL, torch TEXT NOT NULL, seconds REAL NOT NULL, at TEXT NOT NULL,
    verdict_id INTEGER NOT NULL REFERENCES blobs(id)
);
CREATE INDEX runs_finding ON runs(finding_id);
CREATE TABLE events (
    id INTEGER PRIMARY KEY, step INTEGER NOT NULL, at TEXT NOT NULL, actor TEXT NOT NULL, finding_id INTEGER REFERENCES findings(id),
    kind TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL, why TEXT NOT NULL, undoable INTEGER NOT NULL, undoes INTEGER
);
CREATE INDEX events_finding ON events(finding_id);
CREATE INDEX events_step ON events(step);
CREATE INDEX events_actor ON events(actor, step) WHERE undoable;
CREATE INDEX events_undoes ON events(undoes) WHERE undoes IS NOT NULL;
CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are only ever appended'); END;
CREATE TRIGGER events_remain BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are only ever appended'); END;
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, finding_id INTEGER REFERENCES findings(id), payload TEXT NOT NULL, state TEXT NOT NULL,
    priority INTEGER NOT NULL, actor TEXT NOT NULL, worker TEXT, lease_until TEXT, attempts INTEGER NOT NULL DEFAULT 0,
    created TEXT NOT NULL, started TEXT, finished TEXT, result TEXT, reason TEXT NOT NULL DEFAULT ''
);
CREATE INDEX jobs_open ON jobs(state, priority, id);
CREATE INDEX jobs_finding ON jobs(finding_id);
CREATE TABLE workers (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, started TEXT NOT NULL, lease_until TEXT NOT NULL
);
CREATE TABLE memo (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, data BLOB NOT NULL, at TEXT NOT NULL
);
CREATE VIEW triage AS
    SELECT f.id, f.title, f.state, f.bucket_id, s.text AS signature, f.stage, f.symptoms, f.guilty, f.labels, f.assignee, f.code, f.backend,
           f.dtype, f.ops, f.torch, f.count, f.reduction, f.statements, f.verified || ' of ' || f.verified_runs AS verified, f.created, f.seen
    FROM findings f JOIN signatures s ON s.id = f.signature_id WHERE f.deleted IS NULL;
CREATE VIEW bucket_sizes AS
    SELECT b.id, b.title, b.stage, b.symptoms, b.leader_id, count(f.id) AS members, sum(f.count) AS found, max(f.seen) AS seen
    FROM buckets b JOIN findings f ON f.bucket_id = b.id AND f.deleted IS NULL GROUP BY b.id;
"""

_SIGHTINGS = """
CREATE TABLE identity (uid TEXT NOT NULL);
INSERT INTO identity (uid) VALUES (lower(hex(randomblob(12))));
CREATE TABLE sightings (
    finding_id INTEGER NOT NULL REFERENCES findings(id), store TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (finding_id, store)
) WITHOUT ROWID;
"""
"""How often other stores saw a finding, so that importing one twice counts it once; this store's own share is the rest of ``findings.count``."""

_LLM_CALLS = """
CREATE TABLE llm_calls (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, campaign_id INTEGER REFERENCES campaigns(id), parent_id INTEGER REFERENCES llm_calls(id),
    purpose TEXT NOT NULL, prompt TEXT NOT NULL, key TEXT NOT NULL, model TEXT NOT NULL, answered_by TEXT NOT NULL, host TEXT NOT NULL,
    parameters TEXT NOT NULL, seed TEXT NOT NULL, characteristic TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    milliseconds INTEGER NOT NULL, tries INTEGER NOT NULL, finish TEXT NOT NULL, outcome TEXT NOT NULL, detail TEXT NOT NULL, cost REAL,
    replayed INTEGER NOT NULL, verdict TEXT, finding_id INTEGER REFERENCES findings(id),
    messages_id INTEGER NOT NULL REFERENCES blobs(id), answer_id INTEGER REFERENCES blobs(id)
);
CREATE INDEX llm_calls_key ON llm_calls(key);
CREATE INDEX llm_calls_campaign ON llm_calls(campaign_id);
"""


def prepare(connection: Connection) -> None:
    """Bring the file up to date, or say why that cannot be: newer than us, somebody else's, or older and read-only."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StoreError(
            f"SQLite {sqlite3.sqlite_version} is too old", f"use a Python whose sqlite3 has {'.'.join(map(str, OLDEST_SQLITE))} or newer"
        )
    known = [name for name, _ in MIGRATIONS]
    with connection.read() as c:
        applied = _applied(c, connection)
    _refuse_newer(applied, known, connection)
    connection.version = len(known)
    if applied != known:
        if connection.readonly and not applied:
            raise StoreError(
                f"{connection.path} is empty", "`workbench fuzz` or `workbench check --save` begins a store; or name another with --db"
            )
        if connection.readonly:
            raise StoreError(f"{connection.path} is of an older workbench", "it is opened for reading only; `workbench stats` upgrades it")
        _migrate(connection, known)
        connection.version = len(known)
    if not connection.readonly:
        connection.use_wal()


def is_older(connection: Connection) -> bool:
    """Whether the file is a store that lacks migrations; StoreError for somebody else's database or a newer store."""
    known = [name for name, _ in MIGRATIONS]
    with connection.read() as c:
        applied = _applied(c, connection)
    _refuse_newer(applied, known, connection)
    return bool(applied) and applied != known


def _migrate(connection: Connection, known: list[str]) -> None:
    """All pending migrations in one transaction, so that two processes that start at once do not both run them."""
    from sqlite_utils import Database  # here: 0.07 s that only a migration needs
    from sqlite_utils.migrations import Migrations

    migrations = Migrations(NAME)
    for name, change in MIGRATIONS:
        migrations(name=name)(change)
    connection.use_wal()
    with connection.write(migrating=True) as c:
        _refuse_newer(_applied(c, connection), known, connection)
        migrations.apply(Database(c, recursive_triggers=False))
        c.execute(f"PRAGMA user_version = {len(known)}")


def _first(db: Database) -> None:
    _script(db.conn, _FIRST)


def _sightings(db: Database) -> None:
    _script(db.conn, _SIGHTINGS)


def _llm_calls(db: Database) -> None:
    _script(db.conn, _LLM_CALLS)


def _symptoms_by_finding(db: Database) -> None:
    _script(db.conn, "CREATE INDEX finding_symptoms_finding ON finding_symptoms(finding_id);")  # else adding one finding reads them all


MIGRATIONS: tuple[tuple[str, Callable[[Database], None]], ...] = (
    ("0001_first", _first),
    ("0002_sightings", _sightings),
    ("0003_llm_calls", _llm_calls),
    ("0004_symptoms_by_finding", _symptoms_by_finding),
)
"""In order, forward only: append, never change one that a release has brought to people."""


def _script(c: sqlite3.Connection, text: str) -> None:
    """Statement by statement: ``executescript`` would commit the transaction that the migration runs in."""
    for statement in _statements(text):
        c.execute(statement)


def _statements(text: str) -> Iterator[str]:
    gathered = ""
    for line in text.splitlines(keepends=True):
        gathered += line
        if sqlite3.complete_statement(gathered):
            yield gathered
            gathered = ""


def _applied(c: sqlite3.Connection, connection: Connection) -> list[str]:
    """Names of our migrations that the file has; empty for an empty file; StoreError for somebody else's database."""
    tables = {row[0] for row in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return []
    names: list[str] = []
    if "_sqlite_migrations" in tables:
        names = [row[0] for row in c.execute("SELECT name FROM _sqlite_migrations WHERE migration_set = ? ORDER BY id", (NAME,))]
    if not names:
        raise StoreError(f"{connection.path} is a database of something else", "name another file with --db; this one was not touched")
    return names


def _refuse_newer(applied: list[str], known: list[str], connection: Connection) -> None:
    unknown = [name for name in applied if name not in known]
    if unknown:
        raise StoreError(
            f"{connection.path} was written by a newer workbench (it has {unknown[-1]})",
            "use that version; this one leaves the file as it is",
        )
