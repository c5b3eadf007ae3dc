"""What an unfinished walk may be trusted with."""

import json
import time
from pathlib import Path

import pytest

from teleembed_ray.fetch.walk import LONGEST_AGE_S, NAME, Walk

ROOT = "https://host/archive"


def test_a_walk_is_remembered_with_what_it_led_to_until_it_ends(tmp_path: Path) -> None:
    walk = Walk(tmp_path, ROOT, 19)
    walk.note("38.331", "38_series/38331-j10.zip")
    walk.note("38.211", None)
    again = Walk(tmp_path, ROOT, 19)
    assert [again.knows(spec) for spec in ("38.331", "38.211", "38.212")] == [True, True, False]
    assert [again.path_of(spec) for spec in ("38.331", "38.211")] == ["38_series/38331-j10.zip", None]
    again.end()
    assert not Walk(tmp_path, ROOT, 19).knows("38.331")


@pytest.mark.parametrize(("root", "release"), [("https://mirror/archive", 19), (ROOT, 18)])
def test_a_walk_through_another_archive_or_release_counts_for_nothing(tmp_path: Path, root: str, release: int) -> None:
    Walk(tmp_path, ROOT, 19).note("38.331", None)
    assert not Walk(tmp_path, root, release).knows("38.331")


def test_a_walk_of_yesterday_counts_for_nothing(tmp_path: Path) -> None:
    for age_s, known in ((LONGEST_AGE_S - 60, True), (LONGEST_AGE_S + 60, False), (-3600.0, False)):
        header = {"root": ROOT, "release": 19, "started": time.time() - age_s}
        (tmp_path / NAME).write_text(f'{json.dumps(header)}\n{{"spec": "38.331", "path": null}}')
        assert Walk(tmp_path, ROOT, 19).knows("38.331") is known


def test_a_line_that_a_crash_cut_short_costs_itself_only(tmp_path: Path) -> None:
    walk = Walk(tmp_path, ROOT, 19)
    walk.note("38.211", None)
    with (tmp_path / NAME).open("a") as file:
        file.write('\n{"spec": "38.2')
    Walk(tmp_path, ROOT, 19).note("38.213", None)
    again = Walk(tmp_path, ROOT, 19)
    assert [again.knows(spec) for spec in ("38.211", "38.2", "38.213")] == [True, False, True]
