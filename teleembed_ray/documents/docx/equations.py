"""Equations (OMML) -> one line of text, close to what an engineer types: "x_i^2", "(a+b)/c", "sqrt(x)".

Operands of more than one sign get parentheses where the line would say something else without them. A part without
text is nothing, and never harms the parts beside it.
"""

import re
from collections.abc import Callable
from typing import Any

from teleembed_ray.documents.docx.names import is_on, m, w

_TEXT = frozenset({m("t"), w("t")})
_SPACES = {w("tab"): " ", w("br"): " ", w("cr"): " ", w("noBreakHyphen"): "-"}
_LEFT_OUT = frozenset(map(w, ("del", "moveFrom", "instrText", "delText", "delInstrText")))
_VAL = m("val")
_ACCENTS = {
    "\u0302": "hat", "\u0303": "tilde", "\u0304": "bar", "\u0305": "bar", "\u0306": "breve", "\u0307": "dot",
    "\u0308": "ddot", "\u030c": "check", "\u20d7": "vec", "\u2192": "vec", "\u00af": "bar", "^": "hat", "~": "tilde",
}  # fmt: skip
# A name, a number, or something that has brackets of its own.
_ATOM = re.compile(r"[^\W_]+(?:\.\d+)?|.|\([^()]*\)|\[[^\[\]]*\]|\|[^|]*\|", re.DOTALL)
_SCRIPTED_ATOM = re.compile(r"[^\W_]+(?:[_^](?:[^\W_]+|\([^()]*\)))*")


def linear(element: Any) -> str:
    """m:oMath, m:oMathPara or a part of one -> its text on one line; the equations of a paragraph are lines."""
    if element.tag == m("oMathPara"):
        return "\n".join(filter(None, (linear(child).strip() for child in element if child.tag == m("oMath"))))
    return "".join(map(_part, element))


def _part(element: Any) -> str:
    tag = element.tag
    if tag in _TEXT:
        return element.text or ""
    if not isinstance(tag, str) or tag.endswith("Pr") or tag in _LEFT_OUT:
        return ""
    handler = _HANDLERS.get(tag)
    return _SPACES.get(tag) or (linear(element) if handler is None else handler(element))


def _child(element: Any, name: str) -> str:
    found = element.find(m(name))
    return "" if found is None else linear(found).strip()


def _property(element: Any, name: str, default: str) -> str:
    """Return a setting from the properties of an equation part; one without a value is empty."""
    found = element.find(f"{element.tag}Pr/{m(name)}")
    return default if found is None else str(found.get(_VAL, ""))


def _is_set(element: Any, name: str) -> bool:
    found = element.find(f"{element.tag}Pr/{m(name)}")
    return found is not None and is_on(found.get(_VAL))


def _atom(text: str) -> str:
    return text if not text or _ATOM.fullmatch(text) else f"({text})"


def _factor(text: str) -> str:
    """Return an operand of a fraction, which binds less than a script does."""
    return text if _SCRIPTED_ATOM.fullmatch(text) else _atom(text)


def _script(sign: str, text: str) -> str:
    return f"{sign}{_atom(text)}" if text else ""


def _fraction(element: Any) -> str:
    above, below = _child(element, "num"), _child(element, "den")
    if _property(element, "type", "bar") == "noBar":
        return f"{above} over {below}"
    return f"{_factor(above)}/{_factor(below)}" if above and below else above or below


def _scripts(element: Any) -> str:
    return _factor(_child(element, "e")) + _script("_", _child(element, "sub")) + _script("^", _child(element, "sup"))


def _prescripts(element: Any) -> str:
    before = _script("_", _child(element, "sub")) + _script("^", _child(element, "sup"))
    return f"{before} {_child(element, 'e')}".strip()


def _radical(element: Any) -> str:
    degree = "" if _is_set(element, "degHide") else _child(element, "deg")
    radicand = _child(element, "e")
    return f"root({degree}, {radicand})" if degree else f"sqrt({radicand})"


def _nary(element: Any) -> str:
    limits = _script("_", _child(element, "sub")) + _script("^", _child(element, "sup"))
    return f"{_property(element, 'chr', chr(0x222B))}{limits} {_child(element, 'e')}".strip()


def _delimited(element: Any) -> str:
    parts = [linear(part).strip() for part in element.iterfind(m("e"))]
    separator = _property(element, "sepChr", "|")
    return _property(element, "begChr", "(") + separator.join(parts) + _property(element, "endChr", ")")


def _function(element: Any) -> str:
    name, argument = _child(element, "fName"), _child(element, "e")
    if argument[:1] in ("(", "[", "{", "|"):
        return name + argument
    return f"{name} {argument}".strip() if _SCRIPTED_ATOM.fullmatch(argument) else f"{name}({argument})"


def _lower_limit(element: Any) -> str:
    return _factor(_child(element, "e")) + _script("_", _child(element, "lim"))


def _upper_limit(element: Any) -> str:
    return _factor(_child(element, "e")) + _script("^", _child(element, "lim"))


def _accent(element: Any) -> str:
    sign, text = _property(element, "chr", "\u0302"), _child(element, "e")
    name = _ACCENTS.get(sign)
    return f"{name}({text})" if name else f"{text}{sign}"


def _bar(element: Any) -> str:
    return f"{'bar' if _property(element, 'pos', 'bot') == 'top' else 'underbar'}({_child(element, 'e')})"


def _matrix(element: Any) -> str:
    rows = (", ".join(linear(cell).strip() for cell in row.iterfind(m("e"))) for row in element.iterfind(m("mr")))
    text = "; ".join(rows)
    outer = element.getparent().getparent()
    return text if outer is not None and outer.tag == m("d") else f"[{text}]"


def _equation_array(element: Any) -> str:
    # An ampersand is no sign here: it says where the lines are aligned.
    return "; ".join(linear(row).replace("&", "").strip() for row in element.iterfind(m("e")))


def _phantom(element: Any) -> str:
    is_shown = is_on(_property(element, "show", "1"))
    return _child(element, "e") if is_shown else ""


_HANDLERS: dict[str, Callable[[Any], str]] = {
    m("f"): _fraction,
    m("sSub"): _scripts,
    m("sSup"): _scripts,
    m("sSubSup"): _scripts,
    m("sPre"): _prescripts,
    m("rad"): _radical,
    m("nary"): _nary,
    m("d"): _delimited,
    m("func"): _function,
    m("limLow"): _lower_limit,
    m("limUpp"): _upper_limit,
    m("acc"): _accent,
    m("bar"): _bar,
    m("m"): _matrix,
    m("eqArr"): _equation_array,
    m("phant"): _phantom,
}
