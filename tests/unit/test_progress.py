import io
import time

from blowfish_privacy.support import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_spinner_shows_only_when_it_takes_long_and_never_twice(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.setattr("sys.stderr", Terminal())
    with progress.spinner("outer"), progress.spinner("inner"):
        time.sleep(0.4)
    import sys

    assert "outer" in sys.stderr.getvalue()
    assert "inner" not in sys.stderr.getvalue()
    monkeypatch.setattr("sys.stderr", Terminal())
    with progress.spinner("quick"):
        pass
    assert "quick" not in sys.stderr.getvalue()


def test_a_spinner_is_free_again_after_an_error(monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    for _ in range(2):
        try:
            with progress.spinner("x"):
                raise ValueError
        except ValueError:
            pass
        assert not progress._free.locked()
