"""Builds the package. With make and a C compiler, it has the decoder of lorenz in C, and without them it decodes in
Python. Its sources are in the folder c of the project, and in an sdist. A wheel with this decoder, or with the program
cdfz (make wheel), is for one platform, any other for all."""
import atexit
import glob
import os
import shutil
import subprocess
import sys
import tempfile

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.environ.get("CDFZ_C") or next((d for d in (os.path.join(HERE, "c"), os.path.join(os.path.dirname(HERE), "c")) if os.path.isdir(d)), HERE)
DICTIONARY = os.path.join(HERE, "cdfz", "dictionary1.bin")
COMPILER = os.environ.get("CC", "cc").split()[0]
NATIVE = sys.platform == "linux" and os.path.exists(os.path.join(SOURCES, "lorenz.c")) and shutil.which("make") and shutil.which(COMPILER)
PROGRAM = os.path.exists(os.path.join(HERE, "cdfz", "bin", "cdfz"))


class Platform(Distribution):
    """A wheel for one platform has all its files at its root, where tools that check wheels look for libraries."""

    def has_ext_modules(self):
        return bool(NATIVE or PROGRAM)

    def parse_config_files(self, *args, **options):
        super().parse_config_files(*args, **options)
        if PROGRAM:                            # without it, pip would replace the program in ~/.local/bin by a script
            self.entry_points["console_scripts"] = ["cdfz = cdfz._program:main"]


class Build(build_py):
    def run(self):
        super().run()
        if not NATIVE or getattr(self, "editable_mode", False):
            return
        with tempfile.TemporaryDirectory() as out:
            done = subprocess.run(["make", "-s", "-C", SOURCES, "lorenz", f"OUT={out}", f"DICTIONARY={DICTIONARY}"])
            if done.returncode == 0:
                self.copy_file(os.path.join(out, "liblorenz.so"), os.path.join(self.build_lib, "cdfz", "liblorenz.so"))
            else:
                print("warning: the decoder in C was not built, and Python decodes instead", file=sys.stderr)


class SourceDist(sdist):
    """Adds the sources of the decoder in C, and the licence."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        names = [n for pattern in ("Makefile", "lorenz*.[ch]") for n in glob.glob(os.path.join(SOURCES, pattern))]
        if len(names) < 2:
            raise SystemExit(f"{SOURCES}: expected the sources of the decoder in C, found none")
        os.makedirs(os.path.join(base_dir, "c"), exist_ok=True)
        for name in names:
            shutil.copy(name, os.path.join(base_dir, "c"))
        licence = os.path.join(os.path.dirname(SOURCES), "LICENSE")
        if os.path.exists(licence):
            shutil.copy(licence, base_dir)


commands = {"build_py": Build, "sdist": SourceDist}
if NATIVE or PROGRAM:
    try:
        from setuptools.command.bdist_wheel import bdist_wheel
    except ImportError:                        # before setuptools 70
        try:
            from wheel.bdist_wheel import bdist_wheel
        except ImportError:
            raise SystemExit("building cdfz needs setuptools 70, or the package wheel: pip install wheel") from None

    class Wheel(bdist_wheel):
        def get_tag(self):
            # Nothing is linked with Python, and so the wheel is for all versions of it. The program is static.
            return "py3", "none", os.environ.get("CDFZ_PLATFORM", super().get_tag()[2])

    commands["bdist_wheel"] = Wheel

# Nothing is built in the folder of the sources.
BUILD = tempfile.mkdtemp()
atexit.register(shutil.rmtree, BUILD, ignore_errors=True)
setup(distclass=Platform, cmdclass=commands, options={"build": {"build_base": BUILD}})
