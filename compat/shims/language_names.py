"""Names that `triton.language` has since 3.0, on 2.3: rsqrt exp2 erf fma clamp flip join split range …, and methods.

Left out, because 2.3 has nothing to build them from: `permute` of three and more dimensions, `cast` that rounds
towards zero, the AMD floats float8e4b8 and float8e5b16 (2.3's wheel has no AMD backend), `dot_scaled`, descriptors.
"""

from ..acts import note_acted
from ..record import Patches, Shim


def apply(patches: Patches) -> None:
    import ast

    import triton.language as tl
    from triton.compiler.code_generator import CodeGenerator

    from ..old_language import CORE_NAMES, NAMES
    from ..old_language import range as hinted_range
    from ..old_methods import methods

    # Breakpoint: Triton 3.0 has them all; delete with the last column before it.
    for name, function in NAMES.items():
        if not hasattr(tl, name):
            patches.set(tl, name, function)
    for name, item in CORE_NAMES.items():
        patches.set(tl.core, name, item)
    for name, method in methods().items():
        patches.set(tl.tensor, name, method)

    visit_for = CodeGenerator.visit_For

    def visit_for_with_hints(self, node):
        if isinstance(node.iter, ast.Call) and self.visit(node.iter.func) is hinted_range:
            note_acted(SHIM.name)
            node.iter = _plain_range(node.iter)
        return visit_for(self, node)

    patches.set(CodeGenerator, "visit_For", visit_for_with_hints)


def _plain_range(call):
    """`call` of tl.range as one of Python's range, its hints left out."""
    import ast

    # Triton's own names for these three.
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    args = list(call.args)
    for name in ("arg1", "arg2", "step")[len(args) :]:
        if name in given:
            args.append(given[name])
        elif name == "arg2" and "step" in given:
            # range(stop, step=…): the code generator knows a step by its position only.
            args.insert(0, ast.copy_location(ast.Constant(value=0), call))
    function = ast.copy_location(ast.Name(id="range", ctx=ast.Load()), call)
    return ast.copy_location(ast.Call(func=function, args=args, keywords=[]), call)


SHIM = Shim(
    name="language_names",
    issue="bi-mamba2-2",
    tier="names",
    window="<3.0",
    symptom="module 'triton.language' has no attribute 'rsqrt'",
    link="https://github.com/Hprairie/Bi-Mamba2/issues/2",
    delete_when="no column before Triton 3.0 is left",
    apply=apply,
)
