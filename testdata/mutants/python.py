#!/usr/bin/python3
"""Does for the reader in python/cdfz what the command mutants does for that in Go.

    /usr/bin/python3 testdata/mutants/python.py [-v]

Each condition of need(), each condition that leads to an exception, and each bound of a number is switched off in a
process of its own, which then runs the vectors that a reader must refuse. Survivors must be in python.tsv.
Needs Debian's python3-numpy and python3-numcodecs.
"""
import argparse
import ast
import hashlib
import importlib.abc
import importlib.util
import os
import pathlib
import resource
import signal
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python/cdfz"
CODEC = ("lorenz.py", "_adaptive.py", "_arith.py", "_matches.py", "_predict.py", "_streams.py", "_text.py")
CONTAINER = ("_archive.py", "_blocks.py", "_checks.py", "_compressed.py", "_filters.py", "_netcdf.py", "_permutation.py", "_plan.py")
BOUNDS = {"uint": (2,), "uv": (1, 2), "text": (1,)}          # arguments that bound a number
SECONDS, MEMORY = 20, 4 << 30                               # of processor time, so that a busy machine finds nothing
HUGE = 1 << 70

off = -1                                                     # the number of the check that is switched off


def mutant_on(check, ok):
    return True if check == off else ok


def mutant_off(check, bad):
    return False if check == off else bad


def mutant_bound(check, bound, other):
    return other if check == off else bound


class Sites(ast.NodeTransformer):
    """Puts the checks of a module under the control of `off`."""

    def __init__(self, path, sites):
        self.path, self.sites, self.names, self.seen = path, sites, [], {}

    def visit_Module(self, node):
        for x in ast.walk(node):
            if isinstance(x, ast.expr):
                x.text = " ".join(ast.unparse(x).split())     # before it changes
        return self.generic_visit(node)

    def add(self, text):
        key = f"{self.path} {'.'.join(self.names) or 'module'}: {text}"
        self.seen[key] = n = self.seen.get(key, 0) + 1
        self.sites.append((self.path, key + f" #{n}" * (n > 1)))
        return ast.Constant(len(self.sites) - 1)

    def named(self, node):
        self.names.append(node.name)
        self.generic_visit(node)
        self.names.pop()
        return node

    visit_FunctionDef = visit_ClassDef = named

    def call(self, name, *args):
        return ast.Call(ast.Name(name, ast.Load()), list(args), [])

    def split(self, node, operator, name):
        """Makes a site of each operand, and of each comparison in a row."""
        if isinstance(node, ast.BoolOp) and isinstance(node.op, operator):
            node.values = [self.split(v, operator, name) for v in node.values]
            return node
        if operator is ast.And and isinstance(node, ast.Compare) and len(node.ops) > 1:
            sides = [node.left, *node.comparators]
            pairs = [ast.Compare(a, [op], [b]) for a, op, b in zip(sides, node.ops, sides[1:])]
            for p in pairs:
                p.text = f"{p.left.text} {ast.unparse(ast.Compare(ast.Name(''), p.ops, [ast.Name('')])).strip()} {p.comparators[0].text}"
            return ast.BoolOp(ast.And(), [self.split(p, operator, name) for p in pairs])
        if isinstance(node, ast.Constant):
            return node
        return self.call(name, self.add(node.text), node)

    def visit_Call(self, node):
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name == "need":
            node.args[0] = self.split(node.args[0], ast.And, "mutant_on")
        for i in BOUNDS.get(name, ()):
            if i < len(node.args):
                least = name == "uv" and i == 2
                label = f"{node.func.text}({node.args[0].text}, {node.args[i].text})"
                node.args[i] = self.call("mutant_bound", self.add(label), node.args[i], ast.Constant(0 if least else HUGE))
        return node

    def visit_If(self, node):
        self.generic_visit(node)
        if isinstance(node.body[0], ast.Raise) and not node.orelse:
            node.test = self.split(node.test, ast.Or, "mutant_off")
        return node


class Loader(importlib.abc.SourceLoader):
    def __init__(self, fullname, path, sites):
        self.fullname, self.path, self.sites = fullname, path, sites

    def get_filename(self, fullname):
        return str(self.path)

    def get_data(self, path):
        return pathlib.Path(path).read_bytes()

    def source_to_code(self, data, path, *, _optimize=-1):
        tree = ast.parse(data)
        if self.path.name in CODEC + CONTAINER:
            tree = Sites(str(self.path.relative_to(ROOT)), self.sites).visit(tree)
            ast.fix_missing_locations(tree)
        return compile(tree, path, "exec")

    def exec_module(self, module):
        module.__dict__.update(mutant_on=mutant_on, mutant_off=mutant_off, mutant_bound=mutant_bound)
        super().exec_module(module)


class Finder(importlib.abc.MetaPathFinder):
    def __init__(self, sites):
        self.sites = sites

    def find_spec(self, fullname, path, target=None):
        name = fullname.partition("cdfz.")[2]
        file = PACKAGE / (name + ".py") if name else PACKAGE / "__init__.py"
        if fullname.split(".")[0] != "cdfz" or not file.exists():
            return None
        places = None if name else [str(PACKAGE)]
        return importlib.util.spec_from_file_location(fullname, file, loader=Loader(fullname, file, self.sites),
                                                      submodule_search_locations=places)


def vectors(folder):
    for path in sorted((ROOT / folder).iterdir()):
        head, _, body = path.read_bytes().partition(b"\n\n")
        yield path.name, dict(line.split(": ", 1) for line in head.decode().splitlines()), body


def main():
    global off
    parser = argparse.ArgumentParser(description="Finds checks of the reader in Python that no vector tests.")
    parser.add_argument("-v", action="store_true", help="print the vector that finds each mutant")
    verbose = parser.parse_args().v
    sites = []
    sys.dont_write_bytecode = True
    sys.meta_path.insert(0, Finder(sites))
    import cdfz
    from cdfz import lorenz
    from cdfz._archive import Archive

    def block(head, body):
        """Returns what decoding a block gives."""
        try:
            out = lorenz.decode_block(body, lorenz.Parameters.from_vector([int(x) for x in head["parameters"].split()]))
        except cdfz.DamagedBlock:
            return "corrupt"
        return hashlib.sha256(out).hexdigest()

    def archive(head, body):
        try:
            a = Archive(body)
            image = a.image(0, a.plan["image"]["size"]).tobytes()
        except cdfz.ArchiveUnsupported:
            return "refuse"
        except cdfz.ArchiveDamaged:
            return "damage"
        sum = hashlib.sha256(image).hexdigest()
        return "image" if (sum, len(image)) == (a.manifest["sha256"], a.manifest["size"]) else "damage"

    blocks = [(n, h, b, block, h.get("sha256", "corrupt")) for f in ("vectors", "blocks") for n, h, b in vectors("lorenz/testdata/" + f)]
    bad_blocks = [x for x in blocks if x[4] == "corrupt"]
    archives = [(n, h, b, archive, h["expect-reader"]) for n, h, b in vectors("testdata/vectors/bad")]
    # Those that a filter refuses are for the codec, too.
    params = [x for x in archives if x[0].startswith("lorenz_")]

    def first_other(list):
        """Returns the first vector with another result than it states, or None."""
        for name, head, body, run, want in list:
            try:
                found = run(head, body)
            except Exception as e:
                found = f"{type(e).__name__}: {e}"
            if found != want:
                return f"{name}: expected {want}, found {found}"

    wrong = first_other(archives + bad_blocks)
    if wrong:
        sys.exit(f"without any mutant, a vector fails: {wrong}")

    def start(number, path):
        """Runs the vectors in a process of its own, which returns its result through a pipe."""
        global off
        read, write = os.pipe()
        pid = os.fork()
        if pid:
            os.close(write)
            return pid, read
        os.close(read)
        off = number
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        signal.alarm(30 * SECONDS)
        name = os.path.basename(path)
        found = first_other(bad_blocks + params if name in CODEC else archives) or ""
        os.write(write, found.encode(errors="replace")[:200])
        os._exit(0)

    results, running, waiting = {}, [], list(enumerate(sites))
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            number, (path, _) = waiting.pop(0)
            running.append((number, *start(number, path)))
        number, pid, read = running.pop(0)
        found = os.read(read, 1000).decode(errors="replace")
        os.close(read)
        status = os.waitpid(pid, 0)[1]
        results[number] = found if status == 0 else "a crash, or the limit of time or memory"

    known = {}
    for line in (ROOT / "testdata/mutants/python.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            key, _, reason = line.partition("\t")
            known[key] = reason
    bad = 0
    for number, (_, key) in enumerate(sites):
        found = results[number]
        if not found and key not in known:
            print(f"no vector finds that this check is missing:\n\t{key}")
        elif found and key in known:
            print(f"a vector finds a check of python.tsv ({found}):\n\t{key}")
        else:
            if verbose and found:
                print(f"{key}: {found}")
            continue
        bad += 1
    for key in known.keys() - {key for _, key in sites}:
        print(f"python.tsv has a check that does not exist: {key}")
        bad += 1
    alive = sum(not r for r in results.values())
    print(f"python: {len(sites)} checks, {len(sites) - alive} found by a vector, {alive} not")
    if bad:
        sys.exit(f"{bad} checks are not as python.tsv has them")


if __name__ == "__main__":
    main()
