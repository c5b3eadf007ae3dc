"""Progress in a log file: whole lines, no carriage returns, no estimate out of nothing."""

import io

import pytest

from teleembed_ray import progress
from teleembed_ray.progress import Progress


def test_a_log_file_gets_whole_lines_and_no_terminal_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINE_INTERVAL_S", 0.0)
    stream = io.StringIO()
    with Progress(stream).task("embed", 200, "texts") as task:
        for _ in range(4):
            task.advance(50)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("embed: 50 of 200 texts (25 %), ")
    assert "s left" in lines[0]
    assert "\r" not in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_the_first_few_percent_make_no_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINE_INTERVAL_S", 0.0)
    stream = io.StringIO()
    with Progress(stream).task("embed", 1000, "texts") as task:
        task.advance(3)
    assert "s left" not in stream.getvalue()


def test_a_total_that_grows_wave_by_wave_is_shown() -> None:
    stream = io.StringIO()
    with Progress(stream).task("pairs", 0, "candidates") as task:
        task.grow(16)
        task.advance(8)
        assert (task.done, task.total) == (8, 16)
