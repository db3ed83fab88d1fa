"""Execute AMD's pseudo-code of an instruction for one lane, in Python's integers and fractions.

Integers have no width until they are stored.
"""

import re
from fractions import Fraction

from .floats import Failed, encode, f_add, f_div, f_equal, f_less, f_mul, f_neg, is_nan, number
from .values import (
    FUNCTIONS,
    Bits,
    Exact,
    Float,
    Int,
    Memory,
    Wide,
    as_float,
    as_int,
    cast,
    number_of,
    truth,
    typed,
)

_TOKEN = re.compile(
    r"\s*(?:(//[^\n]*)|(\d+'[UIFB](?=[(\[;]))|(\d+'[-+]?\d+\.\d+)|(\d+'(?:0x[0-9a-fA-F]+|[-+]?\d+)[UIF]?)|(0x[0-9a-fA-F]+)(?:ULL|LL|U)?|"
    r"(\d+\.\d+)F?|(\d+)(?:ULL|LL|U|F)?(?![\w'])|([A-Za-z_]\w*)|"
    r"(\+=|-=|\*\*|<<|>>|<=|>=|==|!=|<>|&&|\|\||[-+*/%&|^~!<>=?:;,.(){}\[\]]))"
)
# Bits of the widest register that an instruction writes.
_WIDEST = 512
FORMATS = {16: (5, 10), 32: (8, 23), 64: (11, 52)}
# ---------------------------------------------------------------- parser


def tokens(text):
    found, position = [], 0
    text = text.strip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            if not text[position:].strip():
                break
            raise Failed(f"token {text[position : position + 20]!r}")
        position = match.end()
        comment, cast, half, sized, hexadecimal, real, integer, name, sign = match.groups()
        if comment:
            continue
        if cast:
            found.append(("cast", cast))
        elif half:
            width, _, rest = half.partition("'")
            found.append(("int", Float(Fraction(rest), int(width))))
        elif sized:
            width, _, rest = sized.partition("'")
            found.append(("int", Int(int(rest.rstrip("UIF"), 0), int(width), False)))
        elif hexadecimal:
            found.append(("int", Int(int(hexadecimal, 16), 64, False)))
        elif real:
            found.append(("real", Fraction(real)))
        elif integer:
            found.append(("int", Int(int(integer), 32, True)))
        elif name:
            found.append(("name", name))
        else:
            found.append(("op", sign))
    return found


class Return(Exception):
    def __init__(self, value):
        super().__init__()
        self.value = value


class Function:
    """A function that the text defines: its parameters, and the tokens of its body."""

    def __init__(self, parameters, body):
        self.parameters, self.body = parameters, body


class Break(Exception):
    pass


_LEVELS = [("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!=", "<>"), ("<", ">", "<=", ">="), ("<<", ">>"),
           ("+", "-"), ("*", "/", "%"), ("**",)]  # fmt: skip


class Run:
    """One execution. `variables`: name -> Bits, Int or Float; arrays are dicts."""

    def __init__(self, table, variables, toward_zero=False):
        self.table, self.variables = table, variables
        self.toward_zero = toward_zero

    def execute(self, text):
        self.toks, self.at = tokens(text), 0
        self._statements(True, ())
        return self.variables

    # statements

    def _peek(self, ahead=0):
        return self.toks[self.at + ahead] if self.at + ahead < len(self.toks) else ("end", "")

    def _take(self, value=None):
        token = self._peek()
        if value is not None and token[1] != value:
            raise Failed(f"{value} wanted, {token[1]} found")
        self.at += 1
        return token

    def _statements(self, live, ends):
        while self._peek()[0] != "end" and self._peek()[1] not in ends:
            if self._peek() == ("op", ";"):
                self._take()
                continue
            self._statement(live)

    def _statement(self, live):
        kind, word = self._peek()
        if word == "if":
            self._if(live)
        elif word == "for":
            self._for(live)
        elif word == "declare":
            self._take()
            name, array = self._take()[1], False
            while self._peek()[1] != ";" and self._peek()[0] != "end":
                array = self._take()[1] == "[" or array
            self.variables.setdefault(name, {} if array else Bits(0, 128))
        elif word == "break":
            self._take()
            if live:
                raise Break
        elif word == "return":
            self._take()
            value = self._expression(live)
            if live:
                raise Return(value)
        elif kind == "op" and word == "{":
            self._unpack(live)
        else:
            self._assign(live)

    def _if(self, live):
        done = False
        while True:
            word = self._take()[1]
            if word in ("if", "elsif"):
                here = self._expression(live and not done)
                self._take("then")
                go = live and not done and truth(here)
            elif word == "else":
                go = live and not done
            else:
                return
            self._statements(go, ("elsif", "else", "endif"))
            done = done or go

    def _for(self, live):
        self._take()
        name = self._take()[1]
        self._take("in")
        first = self._expression(live)
        self._take(":")
        last = self._expression(live)
        self._take("do")
        start = self.at
        if live:
            broke = False
            for value in range(first.value, last.value + 1):
                self.at = start
                self.variables[name] = Int(value)
                try:
                    self._statements(True, ("endfor",))
                except Break:
                    broke = True
                    break
            if broke or last.value < first.value:
                self._skip_to_end(start)
        else:
            self._statements(False, ("endfor",))
        self._take("endfor")

    def _skip_to_end(self, start):
        self.at, depth = start, 0
        while not (self._peek()[1] == "endfor" and depth == 0):
            depth += {"for": 1, "endfor": -1}.get(self._peek()[1], 0)
            self._take()

    def _unpack(self, live):
        """{ D1.u1, D0.u64 } = …"""
        self._take("{")
        targets = []
        while True:
            name = self._take()[1]
            self._take(".")
            kind = self._take()[1]
            targets.append((name, int(re.sub(r"\D", "", kind))))
            if self._take()[1] == "}":
                break
        self._take("=")
        value = self._expression(live)
        if live:
            shift = 0
            for name, width in reversed(targets):
                self.variables[name] = Bits(value.value >> shift, width)
                shift += width

    def _assign(self, live):
        name = self._take()[1]
        path = []
        while self._peek()[1] in (".", "["):
            if self._take()[1] == ".":
                path.append(("kind", self._take()[1]))
            else:
                first = self._expression(live)
                if self._peek()[1] == ":":
                    self._take()
                    path.append(("range", first, self._expression(live)))
                else:
                    path.append(("index", first))
                self._take("]")
        operator = self._take()[1]
        if operator not in ("=", "+=", "-="):
            raise Failed(f"{name} {operator}")
        if self._peek()[1] == "lambda":
            self.variables[name] = self._function()
            return
        value = self._expression(live)
        if not live or name == "TRAPSTS":
            return
        if operator != "=":
            old = self._step(self.variables[name], path)
            value = self._binary(operator[0], old, value)
        self._store(name, path, value)

    def _function(self):
        """lambda(x, y) ( … ): an expression, or statements that return."""
        self._take()
        parameters = [word for kind, word in self._in_brackets() if kind == "name"]
        return Function(parameters, self._in_brackets())

    def _in_brackets(self):
        self._take("(")
        start, depth = self.at, 1
        while depth:
            depth += {"(": 1, ")": -1}.get(self._take()[1], 0)
        return self.toks[start : self.at - 1]

    def _store(self, name, path, value):
        if not path:
            self.variables[name] = value
            return
        kinds = [step[1] for step in path if step[0] == "kind"]
        places = [step for step in path if step[0] != "kind"]
        old = self.variables.get(name, Bits(0, 128))
        if isinstance(old, Memory):
            width = int(re.sub(r"\D", "", kinds[-1]))
            old.write(places[0][1].value, width, self._as(value, kinds[-1]))
            return
        if isinstance(old, dict):
            if len(places) > 2 or len(kinds) > 1:
                raise Failed("an array's part")
            for place in places[:-1]:
                old = old[place[1].value]
            old[places[-1][1].value] = value
            return
        width = int(re.sub(r"\D", "", kinds[-1])) if kinds else None
        if not places:
            raw = self._as(value, kinds[-1])
            self.variables[name] = Bits(raw, width)
            return
        whole = old.raw(_WIDEST) if not isinstance(old, Int) else old.value & ((1 << _WIDEST) - 1)
        place = places[0]
        if place[0] == "range":
            high, low = place[1].value, place[2].value
        else:
            high = low = place[1].value
        bits = high - low + 1
        raw = self._as(value, kinds[-1]) if kinds and path[-1][0] == "kind" else value.raw(bits)
        mask = ((1 << bits) - 1) << low
        self.variables[name] = Bits((whole & ~mask) | ((raw << low) & mask), _WIDEST)

    @staticmethod
    def _as(value, kind):
        """Raw bits of a value that is stored as this kind."""
        width = int(re.sub(r"\D", "", kind))
        if kind[0] == "f" and kind != "fp8" and isinstance(value, Float) and value.width != width:
            return encode(value.value, width)
        if kind == "bf16" and isinstance(value, Float):
            return encode(value.value, 16, (8, 7))
        return value.raw(width)

    # expressions

    def _expression(self, live):
        condition = self._level(0, live)
        if self._peek()[1] == "?":
            self._take()
            choose = truth(condition) if live else False
            first = self._expression(live and choose)
            self._take(":")
            second = self._expression(live and not choose)
            return first if choose else second
        return condition

    def _level(self, depth, live):
        if depth == len(_LEVELS):
            return self._unary(live)
        left = self._level(depth + 1, live)
        while self._peek()[0] == "op" and self._peek()[1] in _LEVELS[depth]:
            operator = self._take()[1]
            right = self._level(depth + 1, live)
            left = self._binary(operator, left, right) if live else left
        return left

    def _unary(self, live):
        kind, word = self._peek()
        if kind == "op" and word in ("-", "+", "~", "!"):
            self._take()
            value = self._unary(live)
            if not live or word == "+":
                return value
            if word == "-":
                if isinstance(value, Float):
                    top = 1 << (value.width - 1)
                    return Float(None, value.width, value.bits ^ top)
                return Int(-value.value, value.width)
            if word == "!":
                return Int(not truth(value), 1, False)
            return Int(value.raw(value.width) ^ ((1 << value.width) - 1), value.width, False)
        return self._postfix(self._primary(live), live)

    def _primary(self, live):
        kind, word = self._take()
        if kind == "int":
            return word
        if kind == "real":
            return Float(word, 64)
        if kind == "cast":
            self._take("(")
            value = self._expression(live)
            self._take(")")
            return cast(word, value) if live else value
        if word == "(":
            value = self._expression(live)
            self._take(")")
            return value
        if word == "{":
            parts = [self._expression(live)]
            while self._take()[1] == ",":
                parts.append(self._expression(live))
            total, width = 0, 0
            for part in parts:
                total = total << part.width | part.raw(part.width)
                width += part.width
            return Bits(total, width)
        if self._peek()[1] == "(" and kind == "name":
            self._take()
            arguments = []
            while self._peek()[1] != ")":
                arguments.append(self._expression(live))
                if self._peek()[1] == ",":
                    self._take()
            self._take(")")
            return self._call(word, arguments) if live else Int(0)
        if word in ("INF", "NAN", "DENORM"):
            width = 64
            if self._peek()[1] == ".":
                self._take()
                width = int(self._take()[1][1:])
            if word == "DENORM":
                return ("denormal", width)
            return Float({"INF": "inf", "NAN": "nan"}[word], width)
        if word.startswith(("UNDERFLOW_F", "OVERFLOW_F")):
            # The smallest and the largest that the mode's rounding gives: 0 and infinity to nearest.
            return Float(Fraction(0) if word[0] == "U" else "inf", int(word[-2:]))
        if word == "WAVE_MODE":
            self._take(".")
            self._take()
            return Int(1, 1)
        if word in ("ROUND_MODE", "ROUND_NEAREST_EVEN", "ROUND_TOWARD_ZERO"):
            return (
                self.variables.get(word, Int(0))
                if word == "ROUND_MODE"
                else Int(int(word.endswith("ZERO")))
            )
        if not live and word not in self.variables:
            return Bits(0, 64)
        if word not in self.variables:
            raise Failed(f"name {word}")
        return self.variables[word]

    def _postfix(self, value, live):
        path = []
        while self._peek()[1] in (".", "["):
            if self._take()[1] == ".":
                path.append(("kind", self._take()[1]))
            else:
                first = self._expression(live)
                if self._peek()[1] == ":":
                    self._take()
                    path.append(("range", first, self._expression(live)))
                else:
                    path.append(("index", first))
                self._take("]")
        return self._step(value, path) if live else value

    @staticmethod
    def _step(value, path):
        if isinstance(value, Memory):
            (_, address), (_, kind), *path = path
            value = typed(value.read(address.value, int(re.sub(r"\D", "", kind))), kind)
        for step in path:
            if isinstance(value, dict):
                value = value[step[1].value]
                continue
            if isinstance(value, tuple):
                raise Failed("a part of DENORM")
            if step[0] == "kind":
                value = typed(value.raw(128), step[1])
            elif step[0] == "range":
                high, low = step[1].value, step[2].value
                if high < low:
                    # The other way round: the bits change their order.
                    part = value.raw(256) >> high & ((1 << (low - high + 1)) - 1)
                    value = Bits(int(format(part, f"0{low - high + 1}b")[::-1], 2), low - high + 1)
                else:
                    value = Bits(value.raw(256) >> low, high - low + 1)
            else:
                value = Bits(value.raw(256) >> step[1].value, 1)
        return value

    def _binary(self, operator, a, b):
        if isinstance(b, tuple):
            value, width = a.value, b[1]
            least = Fraction(2) ** {32: -126, 64: -1022}[width]
            tiny = not isinstance(value, str) and 0 < abs(value) < least
            # A quotient that would be denormal is one before it is rounded to the format.
            return Int(tiny if operator == "==" else not tiny, 1)
        if isinstance(a, Float) or isinstance(b, Float):
            return self._floats(operator, a, b)
        x, y = as_int(a), as_int(b)
        if operator in ("==", "!=", "<>", "<", ">", "<=", ">=", "&&", "||"):
            result = {"==": x == y, "!=": x != y, "<>": x != y, "<": x < y, ">": x > y, "<=": x <= y, ">=": x >= y,
                      "&&": bool(x) and bool(y), "||": bool(x) or bool(y)}[operator]  # fmt: skip
            return Int(result, 1, False)
        width = max(a.width, b.width)
        signed = getattr(a, "signed", False) and getattr(b, "signed", False)
        if operator in ("<<", ">>"):
            if not 0 <= y < 4096:
                raise Failed("shift")
            return Int(
                x << y if operator == "<<" else x >> y,
                max(a.width, 64),
                getattr(a, "signed", False),
            )
        if operator == "**":
            return Int(x**y, 64)
        if operator in ("/", "%"):
            return Int(
                int(Fraction(x, y)) if operator == "/" else x - y * int(Fraction(x, y)),
                width,
                signed,
            )
        value = {"+": x + y, "-": x - y, "*": x * y, "&": x & y, "|": x | y, "^": x ^ y}[operator]
        return Int(value, width, signed)

    def _floats(self, operator, a, b):
        if operator == "**":
            # 2.0 ** n: exact, and rounded where it is used.
            return Wide(
                Fraction(2) ** max(-5000, min(5000, b.value)) if number_of(a) == 2 else None
            )
        if isinstance(a, Wide) or isinstance(b, Wide):
            other = b if isinstance(a, Wide) else a
            wide = a if isinstance(a, Wide) else b
            if operator != "*":
                raise Failed("a power")
            return Float(f_mul(other.value, wide.value), other.width)
        a, b = as_float(a, b), as_float(b, a)
        x, y = a.value, b.value
        width = max(a.width, b.width)
        if operator == "+":
            return Float(f_add(x, y), width)
        if operator == "-":
            return Float(f_add(x, f_neg(y)), width)
        if operator == "*":
            return Float(f_mul(x, y), width)
        if operator == "/":
            return Exact(f_div(x, y), width)
        result = {
            "<": f_less(x, y), ">": f_less(y, x), "<=": f_less(x, y) or f_equal(x, y),
            ">=": f_less(y, x) or f_equal(x, y), "==": f_equal(x, y), "!=": not f_equal(x, y),
            "<>": f_less(x, y) or f_less(y, x),
        }[operator]  # fmt: skip
        if operator == "==" and not is_nan(x) and number(x) == 0 == number(y):
            # "+0.0 == -0.0" in the rules of minimum and maximum asks for the sign.
            result = self.signed_zero(x, y)
        return Int(result, 1, False)

    zero_has_sign = False

    def signed_zero(self, x, y):
        return (x == "-0") == (y == "-0") if self.zero_has_sign else True

    def _call(self, name, arguments):
        own = self.variables.get(name)
        if isinstance(own, Function):
            inner = Run(self.table, dict(zip(own.parameters, arguments)))
            inner.toks, inner.at = own.body, 0
            statements = own.body[0][1] in ("declare", "if", "for")
            try:
                if not statements:
                    return inner._expression(True)
                inner._statements(True, ())
            except Return as returned:
                return returned.value
            raise Failed(f"{name} returns nothing")
        if name.startswith(("v_min", "v_max", "v_sad", "s_")):
            return self._other(name, arguments)
        function = FUNCTIONS.get(name)
        if name not in FUNCTIONS:
            raise Failed(f"function {name}")
        if name == "f32_to_f16":
            toward_zero = bool(as_int(self.variables.get("ROUND_MODE", Int(0))))
            return Float(None, 16, encode(arguments[0].value, 16, None, toward_zero))
        return function(*arguments)

    def _other(self, name, arguments):
        """Another instruction's pseudo-code."""
        text = self.table(name)
        variables = {f"S{place}": argument for place, argument in enumerate(arguments)}
        inner = Run(self.table, {**variables, "laneId": Int(0)})
        inner.zero_has_sign = True
        found = inner.execute(text)["D0"]
        # A sum of differences of bytes is wider than these.
        kind = "u32" if name.startswith("v_sad") else name.rpartition("_")[2]
        return typed(found.raw(64), kind)
