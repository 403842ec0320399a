"""The program cdfz, which makes archives."""
import os
import shutil
import subprocess
import sys


def program():
    """Returns the path of the program: the one in the wheel, else the one on PATH."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "cdfz")
    found = own if os.access(own, os.X_OK) else shutil.which("cdfz")
    if not found:
        raise FileNotFoundError("the program cdfz is neither in this package nor on PATH")
    return found


def main():
    """Becomes the program in the wheel: the command cdfz, where pip has installed that."""
    os.execv(program(), sys.argv)


def archive(name, out=None, *options):
    """Archives a netCDF file, or all below a folder: x.nc becomes x.nc.cdfz, or out.

    options: more arguments of `cdfz archive`, such as "--preset", "max". Returns the report of the
    program. Raises RuntimeError with its message if it fails.
    """
    args = [program(), "archive", *options] + (["-o", os.fspath(out)] if out is not None else []) + ["--", os.fspath(name)]
    done = subprocess.run(args, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"cdfz archive: exit code {done.returncode}")
    return done.stdout
