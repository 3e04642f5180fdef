"""The tables of a ledger in PostgreSQL, and the rules that the server itself keeps.

Whoever is admitted may read all, add rows, and move the balances on; the server lets nobody change or remove a row. It
lets balances move only together with the entry that explains it, each by what the entry states, and what is spent only
up, never below a balance. What regions have in common, and whether the hashes chain, is checked by ``verify``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

VERSION = 4
MARK = f"a ledger of blowfish-privacy, format {VERSION}"
"""The comment that marks a schema as a ledger of ours."""
OLD_MARKS = tuple(f"a ledger of blowfish-privacy, format {old}" for old in range(1, VERSION))
"""Of the formats from 1 on, that are brought to this one when their owner opens them."""

DEFAULT_NAME = "blowfish_ledger"

_AMOUNT = (
    "text NOT NULL CHECK ({0} ~ '^(0|[1-9][0-9]*)/[1-9][0-9]*$' AND length({0}) < 2300 "
    "AND gcd(split_part({0}, '/', 1)::numeric, split_part({0}, '/', 2)::numeric) = 1)"
)


def statements(schema: str) -> Iterator[str]:
    """Make everything, by the steps that an old ledger would take; ``schema`` is quoted already."""
    yield f"CREATE SCHEMA {schema}"
    for name, columns in _FORMAT_1.items():
        yield f"CREATE TABLE {schema}.{name} ({columns.replace('@', schema + '.')})"
    # A text may be too long to be indexed itself. Two texts that collide here are refused by the rules below.
    hashes = "hash, hashtextextended(canonical, 0), hashtextextended(text, 0)"
    yield f"CREATE UNIQUE INDEX policies_once ON {schema}.policies ({hashes})"
    for step in _STEPS:
        yield from step(schema, "")
    yield f"CREATE TRIGGER moves BEFORE UPDATE ON {schema}.account FOR EACH ROW EXECUTE FUNCTION {schema}.moves()"
    tables = {"account": "explained", "policies": "", "entries": "entry_counted", "documents": "document_counted"}
    yield from _triggers(schema, tables)
    yield f"COMMENT ON SCHEMA {schema} IS '{MARK}'"


def migration(schema: str, version: int, head: str) -> Iterator[str]:
    """Bring a ledger of an older format to this one; rows and their hashes stay as they are.

    ``head`` is what all chains of the ledger begin with.
    """
    for step in _STEPS[version - 1 :]:
        yield from step(schema, head)
    yield f"COMMENT ON SCHEMA {schema} IS '{MARK}'"


def _to_format_2(schema: str, head: str) -> Iterator[str]:
    """Failed checks, in a chain of their own."""
    yield f"ALTER TABLE {schema}.account ADD COLUMN failures bigint NOT NULL DEFAULT 0"
    # As a default, since the ledger's own rules let nobody update the balance without a row.
    yield f"ALTER TABLE {schema}.account ADD COLUMN failures_head text NOT NULL DEFAULT '{head}'"
    yield f"CREATE TABLE {schema}.failures ({_FAILURES.replace('@', schema + '.')})"
    yield from _functions(schema)
    yield from _triggers(schema, {"failures": "failure_counted"})


def _to_format_3(schema: str, _: str) -> Iterator[str]:
    """Measures, and what each class of secret pairs was charged; older rows were charged on every class."""
    yield f"ALTER TABLE {schema}.account ADD COLUMN measure text NOT NULL DEFAULT 'epsilon'"
    yield f"ALTER TABLE {schema}.entries ADD COLUMN version integer NOT NULL DEFAULT 1"
    yield f"ALTER TABLE {schema}.entries ADD COLUMN measure text NOT NULL DEFAULT 'epsilon'"
    yield f"ALTER TABLE {schema}.entries ADD COLUMN loss text NOT NULL DEFAULT ''"
    # Rows that are there are not looked at: they are of older formats.
    yield f"ALTER TABLE {schema}.entries ADD CONSTRAINT entries_version CHECK (version = 2) NOT VALID"
    yield from _functions(schema)


def _to_format_4(schema: str, _: str) -> Iterator[str]:
    """Balances of every class of secret pairs; what is spent is now the most that any pair has lost."""
    yield f"CREATE TABLE {schema}.balances ({_BALANCES.replace('@', schema + '.')})"
    yield f"CREATE UNIQUE INDEX balances_once ON {schema}.balances (kind, attribute, md5(within::jsonb::text))"
    yield f"CREATE INDEX balances_of_entry ON {schema}.balances (entry)"
    yield f"CREATE INDEX entries_of_policy ON {schema}.entries (policy, number)"
    for head, body in _ARITHMETIC.items():
        code = f"SET search_path = pg_catalog AS $body$ {body.replace('@', schema + '.')} $body$"
        yield f"CREATE FUNCTION {schema}.{head} {code}"
    yield from _functions(schema)
    yield from _triggers(schema, {"balances": "balance_explained"})


_STEPS = (_to_format_2, _to_format_3, _to_format_4)
"""The step from format 1 to 2, and so on."""


def _functions(schema: str) -> Iterator[str]:
    for name, body in _FUNCTIONS.items():
        code = body.replace("@", schema + ".")
        yield (
            f"CREATE OR REPLACE FUNCTION {schema}.{name}() RETURNS trigger LANGUAGE plpgsql "
            f"SET search_path = pg_catalog AS $body$ BEGIN {code} END $body$"
        )


def _triggers(schema: str, tables: Mapping[str, str]) -> Iterator[str]:
    """Let tables only grow; a function named with one looks at each change when the transaction ends."""
    for table, function in tables.items():
        verbs = "DELETE" if table in ("account", "balances") else "UPDATE OR DELETE"
        yield f"CREATE TRIGGER kept BEFORE {verbs} ON {schema}.{table} FOR EACH ROW EXECUTE FUNCTION {schema}.kept()"
        yield f"CREATE TRIGGER whole BEFORE TRUNCATE ON {schema}.{table} EXECUTE FUNCTION {schema}.kept()"
        if function:
            event = {"account": "UPDATE", "balances": "INSERT OR UPDATE"}.get(table, "INSERT")
            yield (
                f"CREATE CONSTRAINT TRIGGER {function} AFTER {event} ON {schema}.{table} DEFERRABLE INITIALLY DEFERRED "
                f"FOR EACH ROW EXECUTE FUNCTION {schema}.{function}()"
            )


def grants(schema: str, role: str) -> Iterator[str]:
    """Admit a role: it can spend and read, and nothing else; both names are quoted already."""
    yield f"GRANT USAGE ON SCHEMA {schema} TO {role}"
    yield f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}"
    yield f"GRANT INSERT (hash, canonical, text) ON {schema}.policies TO {role}"
    for table in ("entries", "documents", "failures", "balances"):
        yield f"GRANT INSERT ON {schema}.{table} TO {role}"
    moving = "spent, entries, entries_head, documents, documents_head, failures, failures_head"
    yield f"GRANT UPDATE ({moving}) ON {schema}.account TO {role}"
    yield f"GRANT UPDATE (amount, entry) ON {schema}.balances TO {role}"


_FORMAT_1 = {
    "account": f"""
        one integer PRIMARY KEY CHECK (one = 1), budget {_AMOUNT.format("budget")}, created text NOT NULL,
        spent {_AMOUNT.format("spent")}, entries bigint NOT NULL, entries_head text NOT NULL,
        documents bigint NOT NULL, documents_head text NOT NULL""",
    "policies": """
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, hash text NOT NULL, canonical text NOT NULL,
        text text NOT NULL""",
    "entries": f"""
        number bigint PRIMARY KEY CHECK (number > 0), key text NOT NULL UNIQUE, made text NOT NULL,
        policy bigint NOT NULL REFERENCES @policies, epsilon {_AMOUNT.format("epsilon")},
        charged {_AMOUNT.format("charged")}, rule text NOT NULL, description text NOT NULL, mechanism text NOT NULL,
        detail text NOT NULL, chain text NOT NULL""",
    "documents": """
        number bigint PRIMARY KEY CHECK (number > 0), entry bigint NOT NULL UNIQUE REFERENCES @entries,
        made text NOT NULL, text text NOT NULL, sha256 text NOT NULL, chain text NOT NULL""",
}
_FAILURES = """
    number bigint PRIMARY KEY CHECK (number > 0), entry bigint NOT NULL UNIQUE REFERENCES @entries,
    made text NOT NULL, chain text NOT NULL"""
_BALANCES = f"""
    kind text NOT NULL, attribute text NOT NULL, within text NOT NULL, amount {_AMOUNT.format("amount")},
    entry bigint NOT NULL REFERENCES @entries"""


def _top(amount: str) -> str:
    return f"split_part({amount}, '/', 1)::numeric"


def _bottom(amount: str) -> str:
    return f"split_part({amount}, '/', 2)::numeric"


_ARITHMETIC = {
    "at_most(a text, b text) RETURNS boolean LANGUAGE sql IMMUTABLE": f"""
        SELECT {_top("a")} * {_bottom("b")} <= {_top("b")} * {_bottom("a")}""",
    "added(a text, b text) RETURNS text LANGUAGE sql IMMUTABLE": f"""
        WITH sum (top, bottom) AS (
            VALUES ({_top("a")} * {_bottom("b")} + {_top("b")} * {_bottom("a")}, {_bottom("a")} * {_bottom("b")}))
        SELECT div(top, gcd(top, bottom)) || '/' || div(bottom, gcd(top, bottom)) FROM sum""",  # noqa: S608  # numbers only
    "carried(number bigint, loss jsonb, charged text, spent text) RETURNS boolean LANGUAGE plpgsql": """
        DECLARE part jsonb; total text := '0/1'; every text; moved bigint; lost text;
        BEGIN
            FOR part IN SELECT jsonb_array_elements(loss) LOOP
                total := @added(total, part->>'amount');
                IF NOT @at_most(part->>'amount', charged) THEN RETURN false; END IF;
            END LOOP;
            SELECT count(*) INTO moved FROM @balances AS b WHERE b.entry = number;
            IF moved <> jsonb_array_length(loss) OR NOT @at_most(charged, total) THEN RETURN false; END IF;
            SELECT coalesce(max(b.amount), '0/1') INTO every FROM @balances AS b WHERE b.kind = 'every';
            FOR lost IN SELECT @added(b.amount, coalesce(w.amount, '0/1')) FROM @balances AS b
                LEFT JOIN @balances AS w ON (w.kind, w.attribute, w.within, b.within = '{}')
                    = (b.kind, b.attribute, '{}', false)
                WHERE b.kind <> 'every' AND EXISTS (SELECT FROM @balances AS m WHERE m.entry = number
                    AND (m.kind = 'every' OR (m.kind, m.attribute) = (b.kind, b.attribute)))
            LOOP
                IF NOT @at_most(@added(lost, every), spent) THEN RETURN false; END IF;
            END LOOP;
            RETURN @at_most(every, spent);
        END""",
}
"""Sums of amounts; and whether the balances carry what an entry states, and what is spent covers each of them."""


def _same(kind: str) -> str:
    return f"(NEW.{kind}, NEW.{kind}_head) = (OLD.{kind}, OLD.{kind}_head)"


_FUNCTIONS = {
    "kept": "RAISE EXCEPTION 'rows of a ledger are only ever added';",
    "moves": f"""
        IF (NEW.one, NEW.measure, NEW.budget, NEW.created)
            IS DISTINCT FROM (OLD.one, OLD.measure, OLD.budget, OLD.created) THEN
            RAISE EXCEPTION 'the budget of a ledger is fixed';
        END IF;
        IF NOT (
            NEW.entries = OLD.entries + 1 AND {_same("documents")} AND {_same("failures")}
                AND @at_most(OLD.spent, NEW.spent)
            OR NEW.spent = OLD.spent AND {_same("entries")} AND (
                NEW.documents = OLD.documents + 1 AND {_same("failures")}
                OR NEW.failures = OLD.failures + 1 AND {_same("documents")})
        ) OR NOT @at_most(NEW.spent, NEW.budget) THEN
            RAISE EXCEPTION 'the balance moves by one row at a time, and not beyond the budget';
        END IF;
        RETURN NEW;""",
    "explained": """
        IF NEW.entries > OLD.entries AND NOT EXISTS (
            SELECT FROM @entries AS e WHERE e.number = NEW.entries AND e.chain = NEW.entries_head
                AND @at_most(NEW.spent, @added(OLD.spent, e.charged)) AND @at_most(e.epsilon, e.charged)
                AND @carried(e.number, e.loss::jsonb, e.charged, NEW.spent)
        ) OR NEW.documents > OLD.documents AND NOT EXISTS (
            SELECT FROM @documents AS d WHERE d.number = NEW.documents AND d.chain = NEW.documents_head
        ) OR NEW.failures > OLD.failures AND NOT EXISTS (
            SELECT FROM @failures AS f WHERE f.number = NEW.failures AND f.chain = NEW.failures_head
        ) THEN
            RAISE EXCEPTION 'no row explains the balance';
        END IF;
        RETURN NULL;""",
    "balance_explained": """
        IF TG_OP = 'UPDATE' AND ((NEW.kind, NEW.attribute, NEW.within) IS DISTINCT FROM
            (OLD.kind, OLD.attribute, OLD.within) OR NEW.entry <= OLD.entry) OR NOT EXISTS (
            SELECT FROM @entries AS e CROSS JOIN LATERAL jsonb_array_elements(e.loss::jsonb) AS l(part)
            WHERE e.number = NEW.entry AND part->>'pairs' = NEW.kind
                AND coalesce(part->>'attribute', '') = NEW.attribute
                AND coalesce(part->'within', '{}') = NEW.within::jsonb
                AND NEW.amount = @added(CASE TG_OP WHEN 'UPDATE' THEN OLD.amount ELSE '0/1' END, part->>'amount')
        ) THEN
            RAISE EXCEPTION 'no entry explains the balance of a class';
        END IF;
        RETURN NULL;""",
    **{
        f"{kind}_counted": f"""
        IF NOT EXISTS (SELECT FROM @account AS a WHERE a.{column} >= NEW.number) THEN
            RAISE EXCEPTION 'the balance does not count this row';
        END IF;
        RETURN NULL;"""  # names of our own only
        for kind, column in (("entry", "entries"), ("document", "documents"), ("failure", "failures"))
    },
}
