"""Names in a file that somebody else wrote are shown as they are, and do nothing."""

from __future__ import annotations

from fractions import Fraction

from playwright.sync_api import expect

from blowfish_privacy.ledger import create_ledger
from studio.frame import ROOMS, publish, visit, walk

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
