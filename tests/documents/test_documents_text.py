"""Markdown, source code and YAML."""

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


@pytest.mark.parametrize(
    ("comment", "encoding"),
    [
        ("// 25 \u00b0C for 3 \u00b5s", "cp1252"),
        ("// g\u00e9rer la m\u00e9moire", "cp1252"),
        ("// \u5b9a\u65f6\u5668\u8d85\u65f6\u540e\u91cd\u65b0\u53d1\u9001\u8bf7\u6c42\u6d88\u606f", "gb18030"),
        ("// \u30bf\u30a4\u30de\u304c\u6e80\u4e86\u3057\u305f\u3089\u518d\u9001\u3059\u308b", "shift_jis"),
    ],
)
def test_legacy_comments_keep_their_characters(comment: str, encoding: str) -> None:
    source = f"{comment}\nint main() {{ return 0; }}\n"
    assert read_document("a.c", source.encode(encoding)).text == source


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ("a.h", b"\x7fELF\x02\x01\x00\x00", "undecodable"),
        ("a.cpp", "int a;".encode("utf-16-le"), "undecodable"),
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


def test_a_longer_fence_is_not_closed_by_a_shorter_one_inside() -> None:
    text = "````\n```\n| a | b |\n|---|---|\n````\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend\n"
    assert read_document("a.md", text.encode()).text == "````\n```\n| a | b |\n|---|---|\n````\n\nend\n"


@pytest.mark.parametrize("text", ["a | b\n\n---\n\nc\n", "a | b\n---\n\nc | d\n"])
def test_a_horizontal_rule_or_an_underlined_heading_is_no_table(text: str) -> None:
    assert read_document("a.md", text.encode()).text == text


def test_markdown_titles_by_underlined_heading_and_by_name() -> None:
    assert read_document("a.md", b"Widget\n======\n\ntext\n").title == "Widget"
    assert read_document("docs/guide.md", b"```\n# no heading\n```\n").title == "guide"
