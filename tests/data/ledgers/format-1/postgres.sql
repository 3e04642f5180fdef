CREATE SCHEMA @schema;
CREATE TABLE @schema.account (
        one integer PRIMARY KEY CHECK (one = 1), budget text NOT NULL CHECK (budget ~ '^(0|[1-9][0-9]*)/[1-9][0-9]*$' AND length(budget) < 2300 AND gcd(split_part(budget, '/', 1)::numeric, split_part(budget, '/', 2)::numeric) = 1), created text NOT NULL,
        spent text NOT NULL CHECK (spent ~ '^(0|[1-9][0-9]*)/[1-9][0-9]*$' AND length(spent) < 2300 AND gcd(split_part(spent, '/', 1)::numeric, split_part(spent, '/', 2)::numeric) = 1), entries bigint NOT NULL, entries_head text NOT NULL,
        documents bigint NOT NULL, documents_head text NOT NULL);
CREATE TABLE @schema.policies (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, hash text NOT NULL, canonical text NOT NULL,
        text text NOT NULL);
CREATE TABLE @schema.entries (
        number bigint PRIMARY KEY CHECK (number > 0), key text NOT NULL UNIQUE, made text NOT NULL,
        policy bigint NOT NULL REFERENCES @schema.policies, epsilon text NOT NULL CHECK (epsilon ~ '^(0|[1-9][0-9]*)/[1-9][0-9]*$' AND length(epsilon) < 2300 AND gcd(split_part(epsilon, '/', 1)::numeric, split_part(epsilon, '/', 2)::numeric) = 1),
        charged text NOT NULL CHECK (charged ~ '^(0|[1-9][0-9]*)/[1-9][0-9]*$' AND length(charged) < 2300 AND gcd(split_part(charged, '/', 1)::numeric, split_part(charged, '/', 2)::numeric) = 1), rule text NOT NULL, description text NOT NULL, mechanism text NOT NULL,
        detail text NOT NULL, chain text NOT NULL);
CREATE TABLE @schema.documents (
        number bigint PRIMARY KEY CHECK (number > 0), entry bigint NOT NULL UNIQUE REFERENCES @schema.entries,
        made text NOT NULL, text text NOT NULL, sha256 text NOT NULL, chain text NOT NULL);
CREATE UNIQUE INDEX policies_once ON @schema.policies (hash, hashtextextended(canonical, 0), hashtextextended(text, 0));
CREATE FUNCTION @schema.kept() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $body$ BEGIN RAISE EXCEPTION 'rows of a ledger are only ever added'; END $body$;
CREATE FUNCTION @schema.moves() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $body$ BEGIN 
        IF (NEW.one, NEW.budget, NEW.created) IS DISTINCT FROM (OLD.one, OLD.budget, OLD.created) THEN
            RAISE EXCEPTION 'the budget of a ledger is fixed';
        END IF;
        IF NOT (
            NEW.entries = OLD.entries + 1 AND (NEW.documents, NEW.documents_head) = (OLD.documents, OLD.documents_head)
            OR NEW.documents = OLD.documents + 1
                AND (NEW.entries, NEW.entries_head, NEW.spent) = (OLD.entries, OLD.entries_head, OLD.spent)
        ) OR NOT split_part(NEW.spent, '/', 1)::numeric * split_part(NEW.budget, '/', 2)::numeric <= split_part(NEW.budget, '/', 1)::numeric * split_part(NEW.spent, '/', 2)::numeric THEN
            RAISE EXCEPTION 'the balance moves by one row at a time, and not beyond the budget';
        END IF;
        RETURN NEW; END $body$;
CREATE FUNCTION @schema.explained() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $body$ BEGIN 
        IF NEW.entries > OLD.entries AND NOT EXISTS (
            SELECT FROM @schema.entries AS e WHERE e.number = NEW.entries AND e.chain = NEW.entries_head
                AND split_part(NEW.spent, '/', 1)::numeric * split_part(OLD.spent, '/', 2)::numeric * split_part(e.charged, '/', 2)::numeric = split_part(NEW.spent, '/', 2)::numeric * (split_part(OLD.spent, '/', 1)::numeric * split_part(e.charged, '/', 2)::numeric + split_part(e.charged, '/', 1)::numeric * split_part(OLD.spent, '/', 2)::numeric) AND split_part(e.charged, '/', 1)::numeric * split_part(e.epsilon, '/', 2)::numeric >= split_part(e.epsilon, '/', 1)::numeric * split_part(e.charged, '/', 2)::numeric
        ) OR NEW.documents > OLD.documents AND NOT EXISTS (
            SELECT FROM @schema.documents AS d WHERE d.number = NEW.documents AND d.chain = NEW.documents_head
        ) THEN
            RAISE EXCEPTION 'no row explains the balance';
        END IF;
        RETURN NULL; END $body$;
CREATE FUNCTION @schema.entry_counted() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $body$ BEGIN 
        IF NOT EXISTS (SELECT FROM @schema.account AS a WHERE a.entries >= NEW.number) THEN
            RAISE EXCEPTION 'the balance does not count this row';
        END IF;
        RETURN NULL; END $body$;
CREATE FUNCTION @schema.document_counted() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $body$ BEGIN 
        IF NOT EXISTS (SELECT FROM @schema.account AS a WHERE a.documents >= NEW.number) THEN
            RAISE EXCEPTION 'the balance does not count this row';
        END IF;
        RETURN NULL; END $body$;
CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON @schema.policies FOR EACH ROW EXECUTE FUNCTION @schema.kept();
CREATE TRIGGER whole BEFORE TRUNCATE ON @schema.policies EXECUTE FUNCTION @schema.kept();
CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON @schema.entries FOR EACH ROW EXECUTE FUNCTION @schema.kept();
CREATE TRIGGER whole BEFORE TRUNCATE ON @schema.entries EXECUTE FUNCTION @schema.kept();
CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON @schema.documents FOR EACH ROW EXECUTE FUNCTION @schema.kept();
CREATE TRIGGER whole BEFORE TRUNCATE ON @schema.documents EXECUTE FUNCTION @schema.kept();
CREATE TRIGGER kept BEFORE DELETE ON @schema.account FOR EACH ROW EXECUTE FUNCTION @schema.kept();
CREATE TRIGGER whole BEFORE TRUNCATE ON @schema.account EXECUTE FUNCTION @schema.kept();
CREATE TRIGGER moves BEFORE UPDATE ON @schema.account FOR EACH ROW EXECUTE FUNCTION @schema.moves();
CREATE CONSTRAINT TRIGGER explained AFTER UPDATE ON @schema.account DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION @schema.explained();
CREATE CONSTRAINT TRIGGER entry_counted AFTER INSERT ON @schema.entries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION @schema.entry_counted();
CREATE CONSTRAINT TRIGGER document_counted AFTER INSERT ON @schema.documents DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION @schema.document_counted();
COMMENT ON SCHEMA @schema IS 'a ledger of blowfish-privacy, format 1';
