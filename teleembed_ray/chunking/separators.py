"""The two separator hierarchies, coarsest first (TeleEmbedBench, Section III-B)."""

from typing import Literal

Keep = Literal["start", "end"]

SEPARATORS: dict[str, tuple[str, ...]] = {
    # Paragraph, line, sentence, word, character.
    "prose": ("\n\n", "\n", ". ", " ", ""),
    # A brace in the first column ends a function or a namespace, with a semicolon a class. Only what is too long for
    # one chunk is cut further: at blank lines between the steps of a function, at the end of inner blocks, at
    # statements, lines, words and characters. Markdown and YAML hold none of the braces and start at the blank line.
    "code": ("\n}\n", "\n};\n", "\n\n", "}\n", ";\n", "\n", " ", ""),
}

# Which piece keeps a separator: the one it starts or the one it ends. "start" is LangChain's default; in code it would
# hand the closing brace of each function to the chunk that follows.
KEEP_SEPARATOR: dict[str, Keep] = {"prose": "start", "code": "end"}
