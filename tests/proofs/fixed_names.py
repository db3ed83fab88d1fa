"""Which names and arguments each shim brings, read off Triton itself: matrix/facts/fixed_names.json. Run by hand.

PYTHON tests/proofs/fixed_names.py FILE       in a column's environment, with crosswarp on its path: what is there
                                               with each shim alone and was not without
python tests/proofs/fixed_names.py --join FILE.. > matrix/facts/fixed_names.json     on the host, of all columns
"""

import json
import sys


def found():
    from crosswarp.laboratory.cell.language_probes import names
    from crosswarp.matrix.cell.spelled import parameters

    told = set()
    for name, entry in names.found().items():
        told.add(name)
        # Functions of libdevice take what they take.
        if not name.startswith(("libdevice.", "tl.math.")):
            told.update(f"{name}({one})" for one in parameters(entry["signature"]))
    return told


def ask(path):
    from crosswarp import compat
    from crosswarp.compat.shims import all_shims
    from crosswarp.compat.versions import in_window, triton_version

    bare, brought = found(), {}
    for shim in all_shims():
        if not in_window(shim.window, triton_version()):
            continue
        compat.install(only=[shim.name], guard="off")
        for name in found() - bare:
            brought.setdefault(name, shim.name)
        compat.uninstall()
    with open(path, "w") as out:
        json.dump({"triton": triton_version(), "brought": brought}, out)


def join(paths):
    from crosswarp.matrix.cell.spelled import parameters
    from crosswarp.matrix.facts import language_table

    table = language_table.load()
    known = set()
    for release in table.values():
        for name, entry in release.names.items():
            known.update([name, *(f"{name}({one})" for one in parameters(entry.signature))])
    names = {}
    for path in paths:
        with open(path) as file:
            told = json.load(file)
        for name, shim in told["brought"].items():
            # What no release has bare, nobody's code asks for.
            if name in known:
                names.setdefault(name, {}).setdefault(shim, []).append(told["triton"])
    lines = [
        f"{json.dumps(name)}: {json.dumps({one: language_table.runs(v, list(table)) for one, v in shims.items()})}"
        for name, shims in sorted(names.items())
    ]
    print('{\n"crosswarp_fixed_names": 1,\n"names": {\n' + ",\n".join(lines) + "\n}\n}")


if __name__ == "__main__":
    if sys.argv[1] == "--join":
        join(sys.argv[2:])
    else:
        ask(sys.argv[1])
