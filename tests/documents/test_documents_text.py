"""Markdown, source code and YAML."""

import random
import time

import pytest

from teleembed_ray.documents.document import Unreadable
from teleembed_ray.documents.reader import read_document


@pytest.mark.parametrize(
    "data",
    [
        "// caf\u00e9\nint a;\n".encode(),
        "\ufeff// caf\u00e9\r\nint a;\r\n".encode(),
        "\ufeff// caf\u00e9\nint a;\n".encode("utf-16-le"),
        "\ufeff// caf\u00e9\nint a;\n".encode("utf-16-be"),
        "\ufeff// caf\u00e9\nint a;\n".encode("utf-32-le"),
        "// caf\u00e9\nint a;\n".encode("cp1252"),
        "// caf\u00e9\rint a;\r".encode(),
    ],
)
def test_encodings_and_line_ends_of_other_systems_give_the_same_text(data: bytes) -> None:
    assert read_document("a.cc", data).text == "// caf\u00e9\nint a;\n"


def test_utf_32_is_not_taken_for_utf_16_whose_mark_it_begins_with() -> None:
    assert read_document("a.cc", "\ufeff// \U0001f4e1\n".encode("utf-32-le")).text == "// \U0001f4e1\n"


CODE = '\nint main(int argc, char **argv)\n{\n\tprintf("%d\\n", argc); // ASCII\n}\n'
COMMENTS = [
    ("// 25 \u00b0C for 3 \u00b5s, \u00b1 3 dB", "cp1252"),
    ("// g\u00e9rer la m\u00e9moire cr\u00e9\u00e9e", "latin-1"),
    ("// \u00a9 2019 Universit\u00e4t, Gr\u00f6\u00dfe \u00fcbergeben", "latin-1"),
    ("// a \u201cquoted\u201d word \u2014 and more\u2026", "cp1252"),
    # Timer expired: send the request message again.
    ("// \u5b9a\u65f6\u5668\u8d85\u65f6\u540e\u91cd\u65b0\u53d1\u9001\u8bf7\u6c42\u6d88\u606f", "gb18030"),
    # Initialise the RRC connection; each half alone could be Korean.
    ("/* \u521d\u59cb\u5316RRC\u8fde\u63a5 */", "gb18030"),
    # Note: two characters, which in Windows-1252 are four letters.
    ("// \u6ce8\u610f", "gb18030"),
    ("/* \u521d\u59cb\u5316\u9023\u7dda */", "big5"),
    # Sends again when the timer expires.
    ("// \u30bf\u30a4\u30de\u304c\u6e80\u4e86\u3057\u305f\u3089\u518d\u9001\u3059\u308b", "shift_jis"),
    # Timer: each character is one byte above ASCII and one of it.
    ("// \u30bf\u30a4\u30de", "shift_jis"),
    # Initialisation, without any kana.
    ("/* \u521d\u671f\u5316\u51e6\u7406 */", "shift_jis"),
    ("// \uff80\uff72\uff8f \uff74\uff97\uff70", "shift_jis"),
    ("/* \u521d\u671f\u5316\u51e6\u7406\u3092\u884c\u3046 */", "euc_jp"),
    # Sends again when the timer expires.
    ("// \ud0c0\uc774\uba38\uac00 \ub9cc\ub8cc\ub418\uba74 \uc7ac\uc804\uc1a1", "euc_kr"),
    ("/* \uae30\uc9c0\uad6d \ucd08\uae30\ud654 \ud568\uc218 */", "euc_kr"),
]


@pytest.mark.parametrize("num_functions", [1, 40])
@pytest.mark.parametrize(("comment", "encoding"), COMMENTS)
def test_legacy_comments_keep_their_characters_however_much_ascii_surrounds_them(
    comment: str, encoding: str, num_functions: int
) -> None:
    source = comment + CODE * num_functions
    assert read_document("a.c", source.encode(encoding)).text == source


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_known_by_where_its_nul_bytes_are(encoding: str) -> None:
    source = f"// caf\u00e9 \u5b9a\u65f6\u5668\n{CODE}"
    assert read_document("a.h", source.encode(encoding)).text == source


@pytest.mark.parametrize(
    ("damaged", "text"),
    [
        # A byte that somebody's editor left in a comment; the signs around it keep their meaning.
        ("// gr\u00f6\u00dfe ".encode() + b"\xff\n", "// gr\u00f6\u00dfe \ufffd\n"),
        ("// \u00a9 2024, caf".encode() + b"\xe9 \n", "// \u00a9 2024, caf\ufffd \n"),
        # Cut in the middle of the last character.
        ("/* \u5b9a\u65f6\u5668".encode()[:-1], "/* \u5b9a\u65f6\ufffd"),
    ],
)
def test_a_stray_byte_does_not_turn_the_rest_of_a_utf_8_file_to_garbage(damaged: bytes, text: str) -> None:
    document = read_document("a.c", damaged + CODE.encode())
    assert document.text == text + CODE
    assert document.num_unmapped_chars == 1


@pytest.mark.parametrize("length", [4000, 4001])
def test_one_nul_does_not_make_utf_16_of_ascii(length: int) -> None:
    data = (CODE * 400).encode()[: length - 1]
    with pytest.raises(Unreadable, match="undecodable"):
        read_document("a.c", data[:100] + b"\0" + data[100:])


def test_a_binary_file_is_no_header_whether_it_holds_nul_bytes_or_not() -> None:
    noise = random.Random(7)  # noqa: S311 (bytes that are the same each time)
    without_nul = bytes(noise.randrange(1, 256) for _ in range(4000))
    in_utf_16 = b"".join(bytes((noise.randrange(1, 32), 0)) for _ in range(2000))
    controls = bytes(noise.randrange(1, 32) for _ in range(4000))
    for data in (
        without_nul,
        controls,
        in_utf_16,
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        b"MZ\x90\x00\x03\x00\x00\x00",
    ):
        with pytest.raises(Unreadable, match="undecodable"):
            read_document("a.h", data)


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ("a.h", b"\x7fELF\x02\x01\x00\x00", "undecodable"),
        ("a.cpp", "int a;".encode("utf-16-le") + b"\x00", "undecodable"),
        ("a.yaml", b"\xef\xbb\xbf\xff\xfe\xfd", "undecodable"),
        ("a.md", b" \n\t\n", "no_text"),
        ("a.md", b"| a | b |\n|---|---|\n| 1 | 2 |\n", "no_text"),
        ("a.cpp", b"", "empty_file"),
        ("a.png", b"\x89PNG", "unsupported"),
        ("Makefile", b"all:\n", "unsupported"),
    ],
)
def test_what_gives_no_text_says_why(path: str, data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_document(path, data)
    assert caught.value.reason == reason


def test_code_is_unchanged_with_its_indentation_pipes_and_special_token_spellings() -> None:
    source = '  if (a || b) {\n\tsep = "<|endoftext|>"; // ![x](y)\n  }\n'
    document = read_document("lib/a.HPP", source.encode())
    assert (document.text, document.format, document.title) == (source, "cpp", "lib/a.HPP")


def test_no_text_holds_what_arrow_refuses() -> None:
    document = read_document("a.txt", b"a\x01b\x7fc\x0cd\xef\xbf\xbf")
    assert document.text == "abc\nd"
    with pytest.raises(Unreadable, match="undecodable"):
        read_document("b.txt", "\ufeffx\ud800y".encode("utf-16-le", "surrogatepass"))


def test_markdown_tables_and_images_are_left_out_and_counted_and_code_is_not() -> None:
    table = "| a | b |\n|---|:-:|\n| 1 | 2 |\n"
    fence = "```sh\n| not | a table |\n|---|---|\n![not](an image)\n```\n"
    image = "![a figure](f.png)"
    badge = "[![build](b.svg)](ci)"
    text = f"# Radio `stack`\n\nbefore {badge}x\n\n{table}\n{image}\n\n{fence}\nafter <img src='x'>y | z\n"
    document = read_document("README.md", text.encode())
    assert document.text == f"# Radio `stack`\n\nbefore x\n\n{fence}\nafter y | z\n"
    assert document.num_dropped_chars == len(table) + len(image) + len(badge) + len("<img src='x'>")
    assert document.title == "Radio `stack`"


@pytest.mark.parametrize(
    "text",
    [
        "Use `<table>` to begin.\n\nA paragraph.\n\nUse `</table>` to end.\n",
        "``a ` <table>`` is code\n\n``and </table>``\n",
        "a\n\n<!-- <table> -->\nkept\n<!-- </table> -->\n",
        "    <table>\n\nkept\n\n    </table>\n",
        "<table> that is never closed ![nor](this\n",
        "</table> <figure> </table>\n",
    ],
)
def test_a_table_that_is_only_spoken_of_takes_no_prose_along(text: str) -> None:
    assert read_document("a.md", text.encode()).text == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a <table><tr><td><table>x</table>y</td></tr></table> b\n", "a  b\n"),
        ("<TABLE>\n\n<tr><svg>x</TABLE >z\n", "z\n"),
        ("a <table> b <table>x</table> c\n", "a <table> b  c\n"),
        ("- item\n\n    ![picture](u) and text\n", "- item\n\n     and text\n"),
        ("a ` <table>x</table>\n\n` b\n", "a ` \n\n` b\n"),
        ("[logo]: data:image/png;base64,iVBORw0KGgo=\n", "[logo]: \n"),
    ],
)
def test_real_html_tables_and_pictures_go_wherever_they_stand(text: str, kept: str) -> None:
    document = read_document("a.md", text.encode())
    assert document.text == kept
    assert document.num_dropped_chars == len(text) - len(kept)


@pytest.mark.parametrize("piece", ["<table", "<table>", "![](", "x ![a](b ", "[![", "` `` ", "<!--", "<img ", "# # "])
def test_half_a_megabyte_of_beginnings_takes_seconds_and_not_hours(piece: str) -> None:
    # What is searched anew from each beginning took minutes at this length.
    text = piece * (500_000 // len(piece))
    started = time.process_time()
    read_document("a.md", text.encode())
    assert time.process_time() - started < 20


def test_a_longer_fence_is_not_closed_by_a_shorter_one_inside() -> None:
    text = "````\n```\n| a | b |\n|---|---|\n````\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend\n"
    assert read_document("a.md", text.encode()).text == "````\n```\n| a | b |\n|---|---|\n````\n\nend\n"


@pytest.mark.parametrize("text", ["a | b\n\n---\n\nc\n", "a | b\n---\n\nc | d\n"])
def test_a_horizontal_rule_or_an_underlined_heading_is_no_table(text: str) -> None:
    assert read_document("a.md", text.encode()).text == text


def test_markdown_titles_by_underlined_heading_and_by_name() -> None:
    assert read_document("a.md", b"Widget\n======\n\ntext\n").title == "Widget"
    assert read_document("docs/guide.md", b"```\n# no heading\n```\n").title == "guide"
