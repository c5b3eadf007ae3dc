"""Folder listings as servers draw them, and the names in them."""

import pytest

from teleembed_ray.fetch.listing import Entry, parse_listing
from teleembed_ray.fetch.versions import parse_spec, parse_version, version_of_file

URL = "https://www.3gpp.org/ftp/Specs/archive/38_series/38.331/"
FILE = f"{URL}38331-j10.zip"


def names(page: str, url: str = URL) -> list[str] | None:
    entries = parse_listing(page.encode(), url)
    return None if entries is None else [entry.name for entry in entries]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("j10", (19, 1, 0)),
        ("J10", (19, 1, 0)),
        ("ja0", (19, 10, 0)),
        ("jz9", (19, 35, 9)),
        ("421", (4, 2, 1)),
        ("190100", (19, 1, 0)),
        ("143600", (14, 36, 0)),
        ("j1", None),
        ("1901", None),
        ("j1_", None),
        ("", None),
    ],
)
def test_version_codes(code: str, expected: tuple[int, int, int] | None) -> None:
    assert parse_version(code) == expected


@pytest.mark.parametrize(
    ("spec", "name", "expected"),
    [
        ("38.331", "38331-j10.zip", (19, 1, 0)),
        ("38.331", "38331-J10.ZIP", (19, 1, 0)),
        ("38.101-1", "38101-1-j10.zip", (19, 1, 0)),
        ("23.700-14", "23700-14-k00.zip", (20, 0, 0)),
        # A part of another number is no version of this one; nor is a file beside the versions.
        ("38.101", "38101-1-j10.zip", None),
        ("38.331", "38331-j10_rm.zip", None),
        ("38.331", "38331-j10.zip.tmp", None),
        ("38.331", "38211-j10.zip", None),
        ("38.331", "38331-../../x.zip", None),
    ],
)
def test_a_file_is_a_version_of_its_own_specification_only(
    spec: str, name: str, expected: tuple[int, int, int] | None
) -> None:
    assert version_of_file(spec, name) == expected


def test_specification_numbers() -> None:
    assert [parse_spec(text) for text in ("38.331", "38.101-1", "29.198-04-1")] == ["38.331", "38.101-1", "29.198-04-1"]
    assert [parse_spec(text) for text in ("38331", "38.33", "38_series", "../38.331", "38.331/")] == [None] * 5


@pytest.mark.parametrize(
    "href",
    [
        "38331-j10.zip",
        "/ftp/Specs/archive/38_series/38.331/38331-j10.zip",
        "https://www.3gpp.org/ftp/Specs/archive/38_series/38.331/38331-j10.zip",
        "//WWW.3gpp.org/ftp/specs/ARCHIVE/38_series/38.331/38331-j10.zip",
        "http://www.3gpp.org/ftp/Specs/archive/38_series/38.331/38331-j10.zip",
        "38331-j10.zip?download=1#top",
        "./38331-j10.zip",
        "38331%2Dj10.zip",
    ],
)
def test_links_of_every_form_lead_to_the_file(href: str) -> None:
    entries = parse_listing(f'<A HREF="{href}">38331-j10.zip</A>'.encode(), URL)
    assert entries is not None
    assert entries[0].name == "38331-j10.zip"
    assert entries[0].url.lower() in (FILE.lower(), FILE.lower().replace("38331-", "38331%2d"))


@pytest.mark.parametrize(
    "href",
    [
        "?sortby=name",
        "..",
        "/ftp/Specs/archive/38_series/",
        "/ftp/Specs/archive/38_series/38.331/",
        "https://elsewhere.org/ftp/Specs/archive/38_series/38.331/38331-j10.zip",
        "ftp://www.3gpp.org/ftp/Specs/archive/38_series/38.331/38331-j10.zip",
        "deeper/38331-j10.zip",
        "..%2f..%2f38331-j10.zip",
        "..%5c38331-j10.zip",
        "javascript:void(0)",
        "http://[broken/",
        "",
    ],
)
def test_links_to_anything_but_the_folder_s_own_content_are_left_alone(href: str) -> None:
    assert names(f'<a href="../">up</a><a href="{href}">38331-j10.zip</a>') == []


def test_an_empty_folder_is_a_listing_and_a_login_page_is_none() -> None:
    assert names('<a href="/ftp/Specs/archive/38_series/">[To Parent Directory]</a>') == []
    assert names('<a href="/login">Please log in</a><form></form>') is None
    assert names("") is None
    assert names("\x00\xff not a page") is None


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # The archive's own table: a rounded size.
        ("<table><tr><td><a href='F'>F</a></td><td>2024/06/12 15:14</td><td>1234,5 KB</td></tr></table>", None),
        ("<table><tr><td><a href='F'>F</a></td><td>2024/06/12 15:14</td><td>1234567</td></tr></table>", 1234567),
        ("<table><tr><td><a href='F'>F</a></td><td>12-Jun-2024</td><td>1234567 bytes</td></tr></table>", 1234567),
        # A number without a unit below a head that has one.
        ("<table><tr><th>Size (KB)</th></tr><tr><td><a href='F'>F</a></td><td>12345</td></tr></table>", None),
        # IIS, Apache, and a year on its own.
        ("<pre>6/12/2024  3:14 PM      1234567 <A HREF='F'>F</A><br>6/12/2024 3:14 PM 9999 x</pre>", 1234567),
        ("<pre><a href='F'>F</a>   2024-06-12 15:14  1.2M\n<a href='G'>G</a> 2024-06-12 15:14 99999\n</pre>", None),
        ("<pre><a href='F'>F</a>   Jun 12 2024\n</pre>", None),
        ("<ul><li><a href='F'>F</a></li></ul>", None),
    ],
)
def test_a_size_counts_only_where_it_is_given_to_the_byte(row: str, expected: int | None) -> None:
    entries = parse_listing(row.encode(), URL)
    assert entries is not None
    assert entries[0].num_bytes == expected


def test_the_stamp_is_the_rest_of_the_row_and_of_this_row_only() -> None:
    page = (
        "<table><tr><td><a href='a.zip'><img src='i'></a></td><td><a href='a.zip'>a.zip</a></td>"
        "<td>2024/06/12  15:14</td><td>7 KB</td></tr><tr><td><a href='b.zip'>b.zip</a></td><td>other</td></tr></table>"
    )
    assert parse_listing(page.encode(), URL) == [
        Entry("a.zip", f"{URL}a.zip", "2024/06/12 15:14 7 KB", None),
        Entry("b.zip", f"{URL}b.zip", "other", None),
    ]
