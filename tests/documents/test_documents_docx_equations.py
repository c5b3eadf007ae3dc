"""Equations as one line of text."""

import pytest
from docx_parts import paragraph, read, run


def sign(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def part(name: str, properties: str = "", **operands: str) -> str:
    """Return an equation part with its operands by name."""
    inner = "".join(f"<m:{tag}>{content}</m:{tag}>" for tag, content in operands.items())
    return f"<m:{name}><m:{name}Pr>{properties}</m:{name}Pr>{inner}</m:{name}>"


def setting(name: str, value: str) -> str:
    return f'<m:{name} m:val="{value}"/>'


SUM = sign("a+b")
MATRIX = "<m:m>" + f"<m:mr><m:e>{sign('a')}</m:e><m:e>{sign('b')}</m:e></m:mr>" * 2 + "</m:m>"
LINES = f"<m:eqArr><m:e>{sign('x&amp;=1')}</m:e><m:e>{sign('y&amp;=2')}</m:e></m:eqArr>"


@pytest.mark.parametrize(
    ("equation", "expected"),
    [
        (part("f", num=sign("a"), den=sign("b")), "a/b"),
        (part("f", num=SUM, den=sign("2c")), "(a+b)/2c"),
        (part("f", num=sign("a"), den=part("f", num=sign("b"), den=sign("c"))), "a/(b/c)"),
        (part("d", e=part("f", setting("type", "noBar"), num=sign("n"), den=sign("k"))), "(n over k)"),
        (part("sSub", e=sign("N"), sub=sign("RB")), "N_RB"),
        (part("sSup", e=SUM, sup=sign("2")), "(a+b)^2"),
        (part("sSubSup", e=sign("x"), sub=sign("i+1"), sup=sign("max")), "x_(i+1)^max"),
        (part("sSup", e=part("sSub", e=sign("x"), sub=sign("i")), sup=sign("2")), "x_i^2"),
        (part("sPre", sub=sign("1"), sup=sign("2"), e=sign("A")), "_1^2 A"),
        (part("rad", setting("degHide", "1"), deg="", e=SUM), "sqrt(a+b)"),
        (part("rad", deg=sign("3"), e=sign("x")), "root(3, x)"),
        (part("nary", setting("chr", "\u2211"), sub=sign("i=0"), sup=sign("N-1"), e=sign("x")), "\u2211_(i=0)^(N-1) x"),
        (part("nary", sub="", sup="", e=sign("f")), "\u222b f"),
        (part("d", e=SUM), "(a+b)"),
        (part("d", setting("begChr", "[") + setting("endChr", ""), e=sign("a")), "[a"),
        (f"<m:d><m:e>{sign('a')}</m:e><m:e>{sign('b')}</m:e></m:d>", "(a|b)"),
        (part("func", fName=sign("sin"), e=sign("x")), "sin x"),
        (part("func", fName=sign("log"), e=sign("x+1")), "log(x+1)"),
        (part("func", fName=sign("max"), e=part("d", e=sign("a,b"))), "max(a,b)"),
        (part("limLow", e=sign("lim"), lim=sign("n\u2192\u221e")), "lim_(n\u2192\u221e)"),
        (part("limUpp", e=sign("x"), lim=sign("def")), "x^def"),
        (part("acc", e=sign("x")), "hat(x)"),
        (part("acc", setting("chr", "\u20d7"), e=sign("v")), "vec(v)"),
        (part("bar", setting("pos", "top"), e=sign("x")), "bar(x)"),
        (part("groupChr", e=SUM), "a+b"),
        (MATRIX, "[a, b; a, b]"),
        (part("d", setting("begChr", "|") + setting("endChr", "|"), e=MATRIX), "|a, b; a, b|"),
        (part("d", setting("begChr", "{") + setting("endChr", ""), e=LINES), "{x=1; y=2"),
        (part("phant", setting("show", "0"), e=sign("NO")) + sign("yes"), "yes"),
        (f"<w:del>{sign('NO')}</w:del><w:ins>{sign('yes')}</w:ins>", "yes"),
    ],
)
def test_an_equation_is_a_line(equation: str, expected: str) -> None:
    assert read(f"<w:p>{run('x: ')}<m:oMath>{equation}</m:oMath>{run('.')}</w:p>").text == f"x: {expected}."


def test_parts_without_text_harm_none_beside_them() -> None:
    odd = (
        f"<m:r><m:rPr/></m:r><m:f/><m:sSub/>{part('f', num='', den=sign('b'))}<m:d/><m:unknown>{sign('u')}</m:unknown>"
    )
    text = read(f"<w:p>{run('E: ')}<m:oMath>{sign('E=mc')}{odd}</m:oMath>{run(' holds')}</w:p>").text
    assert text == "E: E=mcb()u holds"


def test_equations_that_hold_plain_text_are_written_by_their_own_text_each() -> None:
    plain = (
        "<w:p><m:oMath><m:sSup><m:e><m:r><w:t>{}</w:t></m:r></m:e><m:sup>"
        + sign("2")
        + "</m:sup></m:sSup></m:oMath></w:p>"
    )
    assert read(plain.format("x") + plain.format("x+y")).text == "x^2\n\n(x+y)^2"


def test_equations_of_their_own_are_lines_and_equal_shapes_keep_their_own_text() -> None:
    own = f"<m:oMathPara><m:oMath>{sign('a=1')}</m:oMath><m:oMath>{sign('b=2')}</m:oMath></m:oMathPara>"
    bodies = [f"<w:p><m:oMath>{part('sSup', e=sign(base), sup=sign('2'))}</m:oMath></w:p>" for base in ("x", "x+y")]
    assert read(f"<w:p>{own}</w:p>" + "".join(bodies) + paragraph("end")).text == "a=1\nb=2\n\nx^2\n\n(x+y)^2\n\nend"
