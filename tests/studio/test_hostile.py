"""Names in a file that somebody else wrote are shown as they are, and do nothing."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from playwright.sync_api import expect

from blowfish_privacy.ledger import create_ledger, open_ledger
from studio.files import SMALL
from studio.frame import ROOMS, publish, visit, walk, write

HOSTILE = (
    "<img src=x onerror=window.ran=1>",
    "</script><script>window.ran=1</script>",
    "{{window.ran=1}}",
    "`;window.ran=1;`",
    "${window.ran=1}",
    "javascript:window.ran=1",
    '" onmouseover="window.ran=1',
    "\\u003cscript\\u003ewindow.ran=1\\u003c/script\\u003e",
)


def quoted(name):
    return "'" + name.replace("'", "''") + "'"


def hostile_file(categories):
    """A file with hostile names for an attribute and categories; those of releases must be plain."""
    listed = ", ".join(quoted(each) for each in categories)
    release = f"histogram: [x, {quoted(HOSTILE[0])}], epsilon: 0.1"
    return (
        "version: 1\ndata: people.csv\nledger: people.ledger\nbudget: 1.0\n"
        f"policy:\n  domain:\n    x: {{categorical: [{listed}]}}\n    {quoted(HOSTILE[0])}: {{integer: [0, 3]}}\n"
        f"  secrets:\n    per_attribute: {{x: full, {quoted(HOSTILE[0])}: full}}\n"
        f"releases:\n  - {{name: one, {release}}}\n"
    )


def ran(page):
    return page.evaluate("window.ran ?? null")


def test_names_are_shown_and_do_nothing(studio, page, tmp_path):
    rows = "".join(f'"{each.replace(chr(34), chr(34) * 2)}",1\n' for each in HOSTILE)
    (tmp_path / "people.csv").write_text(f'x,"{HOSTILE[0]}"\n{rows}')
    create_ledger(tmp_path / "people.ledger", budget=Fraction(1))
    page.on("dialog", lambda dialog: (_ for _ in ()).throw(AssertionError(dialog.message)))
    running = studio(hostile_file(HOSTILE))
    for room in ROOMS:
        visit(page, running.address, room)
        page.wait_for_timeout(700)
        assert ran(page) is None, room
    publish(page, running.address)
    expect(page.locator(".nicegui-echart").first).to_be_visible()
    page.locator(".nicegui-echart").first.hover()
    page.wait_for_timeout(500)
    for room in ROOMS:
        walk(page, room)
        assert ran(page) is None, room


OBJECTS = ("__proto__", "constructor", "toString", "hasOwnProperty", "valueOf")


def test_what_every_object_of_javascript_has_may_name_anything(studio, page, tmp_path):
    listed = ", ".join(OBJECTS)
    (tmp_path / "people.csv").write_text(f"__proto__,constructor\n{''.join(f'3,{name}' + chr(10) for name in OBJECTS)}")
    create_ledger(tmp_path / "people.ledger", budget=Fraction(1))
    running = studio(
        "version: 1\ndata: people.csv\nledger: people.ledger\nbudget: 1.0\n"
        f"policy:\n  domain:\n    __proto__: {{integer: [0, 9]}}\n    constructor: {{categorical: [{listed}]}}\n"
        "  secrets:\n    per_attribute: {__proto__: {threshold: 2}, constructor: full}\n"
        "releases:\n  - {name: __proto__, cumulative: __proto__, epsilon: 0.1}\n"
        "  - {name: constructor, histogram: [constructor], epsilon: 0.1}\n"
    )
    for room in ROOMS:
        visit(page, running.address, room)
        assert changed_objects(page) is None, room
    publish(page, running.address)
    expect(page.locator(".nicegui-echart").first).to_be_visible()
    assert changed_objects(page) is None
    # What is pressed is heard: no event was made that cannot be sent.
    visit(page, running.address, "secrets")
    another = page.get_by_role("combobox", name="Another").first
    another.click()
    page.get_by_role("option", name="9", exact=True).click()
    expect(page.get_by_text("3 and 9 are 3 steps apart", exact=False)).to_be_visible()
    assert changed_objects(page) is None


def changed_objects(page):
    """Name what every object of the page has suddenly."""
    page.wait_for_timeout(300)
    return page.evaluate("() => { for (const name in {}) return name; return null; }")


def test_the_name_of_a_file_does_nothing(studio, page, tmp_path):
    name = "<img src=x onerror=window.ran=1>{{1+1}}.yaml"
    (tmp_path / name).write_text(hostile_file(["a", "b"]))
    running = studio(opens=name)
    visit(page, running.address)
    expect(page.get_by_text(name)).to_be_visible()
    assert ran(page) is None


# No value of the data is on the way to the browser, on the page, in a title or in the log before there is noise.
#
# The table has values that are nowhere else: texts in a column that nobody declared, ages far outside the domain, a
# category that is not in the file, and numbers of records that no plan could come to.


TEXTS = ("Quetzalcoatlus", "zebra-crossing-77", "98765431", "87654329")

WOMEN, MEN, THREE = 7919, 5281, 6473

IDENTIFIER = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.fixture
def table():
    """A table whose records fit the file, with a column of canaries besides."""
    rows = [f"{3 if row < THREE else 4 + row % 9},Female,{TEXTS[row % 2]}" for row in range(WOMEN)]
    rows += [f"{5 + row % 7},Male,{TEXTS[row % 2]}" for row in range(MEN)]
    return "\n".join(["age,sex,note", *rows]) + "\n"


@pytest.fixture
def ill_fitting(table):
    """The same with records that the file does not provide for."""
    return f"{table}{TEXTS[2]},Female,x\n3,{TEXTS[0]},x\n-{TEXTS[3]},Male,x\n"


def counts():
    """Exact numbers of records, as they would be written; not the digits of a fraction."""
    for number in (WOMEN, MEN, THREE):
        yield rf"(?<![\w.]){number // 1000},?{number % 1000:03d}\b"


def check(running, traffic, *pages):
    """Look for canaries in all that went over the wire, that pages show, and that the command printed."""
    places = {"traffic": traffic.text, "output": running.output}
    places |= {f"page {number}": page.content() + page.title() for number, page in enumerate(pages)}
    for place, text in places.items():
        for canary in TEXTS:
            assert canary not in text, place
        for pattern in counts():
            # A random identifier may happen to have such a part.
            found = re.search(pattern, IDENTIFIER.sub("", text.replace(running.token, "")))
            assert not found, f"{place}: {found and found.string[found.start() - 60 : found.end() + 60]}"


def test_nothing_of_the_data_is_shown_by_looking_and_planning(studio, page, traffic, tmp_path, table):
    (tmp_path / "people.csv").write_text(table)
    running = studio(SMALL)
    for room in ROOMS:
        visit(page, running.address, room)
        page.wait_for_timeout(700)
    for old, new in (("epsilon: 0.25", "epsilon: 0.5"), ("[0, 20]", "[0, 30]"), ("cumulative: age", "mean: age")):
        write(page, SMALL.replace(old, new))
        for room in ROOMS:
            walk(page, room)
        page.wait_for_timeout(700)
    assert traffic.frames
    assert traffic.responses
    check(running, traffic, page)


def test_nothing_of_data_that_do_not_fit_is_shown(studio, page, traffic, tmp_path, ill_fitting):
    (tmp_path / "people.csv").write_text(ill_fitting)
    running = studio(SMALL)
    for room in ROOMS:
        visit(page, running.address, room)
        page.wait_for_timeout(500)
    check(running, traffic, page)


def test_a_release_that_fails_quotes_nothing(studio, page, traffic, tmp_path, ill_fitting):
    (tmp_path / "people.csv").write_text(ill_fitting)
    create_ledger(tmp_path / "people.ledger", budget=Fraction(1))
    running = studio(SMALL)
    publish(page, running.address)
    expect(page.get_by_role("alert").first).to_be_visible()
    page.wait_for_timeout(500)
    charged = open_ledger(tmp_path / "people.ledger")
    assert [charged.document(entry.key) for entry in charged.entries()] == [None]
    check(running, traffic, page)


def test_a_release_shows_what_was_released(studio, page, traffic, tmp_path, table):
    """Exact numbers are not looked for: noise may hit one by chance."""
    (tmp_path / "people.csv").write_text(table)
    create_ledger(tmp_path / "people.ledger", budget=Fraction(1))
    running = studio(SMALL)
    publish(page, running.address)
    expect(page.locator(".nicegui-echart").first).to_be_visible()
    for room in ROOMS:
        walk(page, room)
    for canary in TEXTS:
        assert canary not in traffic.text + running.output + page.content()


def test_nothing_of_a_table_without_a_file_is_shown(studio, page, traffic, tmp_path, table):
    (tmp_path / "people.csv").write_text(table)
    running = studio(opens="people.csv")
    for room in ROOMS:
        visit(page, running.address, room)
        page.wait_for_timeout(300)
    check(running, traffic, page)


def test_an_error_that_nobody_thought_of_is_not_quoted(studio, page, traffic, tmp_path, table):
    (tmp_path / "people.csv").write_text(table)
    broken = (
        "from blowfish_privacy.studio import page, workshop\n"
        f"def wrong(*_): raise ValueError('{TEXTS[0]}')\n"
        "page._build = wrong"
    )
    traffic.expected.append("500")
    running = studio(SMALL, before=broken)
    running.may_err = True
    page.goto(running.address)
    assert "an unexpected error" in page.content()
    running.stop()
    assert "ValueError" in running.output
    check(running, traffic, page)


def test_the_studio_leaves_nothing_beside_the_file(studio, page, tmp_path, table):
    (tmp_path / "people.csv").write_text(table)
    running = studio(SMALL)
    for room in ROOMS:
        visit(page, running.address, room)
    page.close()
    running.stop()
    assert {path.name for path in tmp_path.iterdir()} == {"file.yaml", "people.csv"}
