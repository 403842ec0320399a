"""Builds the package. With make, a C compiler and the folder c of the project, it has the decoder of lorenz in C, and
without them it decodes in Python. A wheel with this decoder, or with the program cdfz (make wheel), is for one
platform, any other for all."""
import os
import shutil
import subprocess
import sys
import tempfile

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.environ.get("CDFZ_C", os.path.join(os.path.dirname(HERE), "c"))
COMPILER = os.environ.get("CC", "cc").split()[0]
NATIVE = sys.platform == "linux" and os.path.exists(os.path.join(SOURCES, "lorenz.c")) and shutil.which("make") and shutil.which(COMPILER)
PROGRAM = os.path.exists(os.path.join(HERE, "cdfz", "bin", "cdfz"))


class Build(build_py):
    def run(self):
        super().run()
        if not NATIVE or getattr(self, "editable_mode", False):
            return
        with tempfile.TemporaryDirectory() as out:
            done = subprocess.run(["make", "-s", "-C", SOURCES, "lorenz", f"OUT={out}"])
            if done.returncode == 0:
                self.copy_file(os.path.join(out, "liblorenz.so"), os.path.join(self.build_lib, "cdfz", "liblorenz.so"))
            else:
                print("warning: the decoder in C was not built, and Python decodes instead", file=sys.stderr)


commands = {"build_py": Build}
if NATIVE or PROGRAM:
    try:
        from setuptools.command.bdist_wheel import bdist_wheel
    except ImportError:                        # before setuptools 70
        from wheel.bdist_wheel import bdist_wheel

    class Wheel(bdist_wheel):
        def finalize_options(self):
            super().finalize_options()
            self.root_is_pure = False

        def get_tag(self):
            # Nothing is linked with Python, and so the wheel is for all versions of it. The program is static.
            return "py3", "none", os.environ.get("CDFZ_PLATFORM", super().get_tag()[2])

    commands["bdist_wheel"] = Wheel

setup(cmdclass=commands)
