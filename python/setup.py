"""A wheel that holds the program cdfz (make wheel) is for one platform, any other for all."""
import os

from setuptools import setup

commands = {}
if os.path.exists(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cdfz", "bin", "cdfz")):
    from wheel.bdist_wheel import bdist_wheel

    class Wheel(bdist_wheel):
        def finalize_options(self):
            super().finalize_options()
            self.root_is_pure = False

        def get_tag(self):
            # The program is static, so that it needs no libraries of a distribution.
            return "py3", "none", os.environ["CDFZ_PLATFORM"]

    commands["bdist_wheel"] = Wheel

setup(cmdclass=commands)
