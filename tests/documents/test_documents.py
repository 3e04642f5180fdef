"""The same bits, data and policy give the same document, from one version to the next."""

import json

from documents.cases import STORED, digests


def test_documents_are_those_of_the_version_before() -> None:
    # 17 divides none of the numbers of domains, secrets, options, queries and mechanisms: all of them appear.
    stored, now = json.loads(STORED.read_text()), digests(every=17)
    changed = [name for name, digest in now.items() if stored.get(name) != digest]
    assert not changed, f"{len(changed)} of {len(now)} documents changed: if they should, run tests/documents/cases.py"
    mechanisms = {name.split()[-1] for name in now}
    assert len(now) > 100
    assert len(mechanisms) == len({name.split()[-1] for name in stored})
