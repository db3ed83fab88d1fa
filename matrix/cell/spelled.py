"""How the language table spells names and signatures, for the side that asks a column and for those that read."""

import ast
from typing import Dict

# Modules whose names the table has under a shorter one.
SHORT = {
    "triton.language": "tl",
    "triton.language.math": "tl.math",
    "triton.language.extra.libdevice": "libdevice",
}


def parameters(text: str) -> "Dict[str, str]":
    """The parameters of a signature of the table, in order, with their defaults, or an empty string."""
    if not text.startswith("("):
        return {}
    function = ast.parse(f"def f{text}: pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    given = function.args
    plain = [parameter.arg for parameter in (*given.posonlyargs, *given.args)]
    spelled = [ast.unparse(value) for value in given.defaults]
    defaults = dict(zip(plain, [""] * (len(plain) - len(spelled)) + spelled))
    if given.vararg:
        defaults[f"*{given.vararg.arg}"] = ""
    for parameter, default in zip(given.kwonlyargs, given.kw_defaults):
        defaults[parameter.arg] = "" if default is None else ast.unparse(default)
    if given.kwarg:
        defaults[f"**{given.kwarg.arg}"] = ""
    return defaults
