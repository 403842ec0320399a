# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.build_systems.go import GoPackage

from spack.package import *


class Cdfz(GoPackage):
    """Compressed archives of classic netCDF files, with random access and exact restoration."""

    homepage = "<<.Home>>"
    url = "<<.Source>>"
    git = "<<.Home>>.git"

    license("Apache-2.0", checked_by="cdfz-format")

    version("<<.Version>>", sha256="<<.SHA256>>")

    depends_on("go@1.26:", type="build")

    build_directory = "cmd/cdfz"

    @run_after("install")
    def install_plugin_host(self):
        # The process that loads HDF5's plugins exists for two processors.
        if self.spec.satisfies("platform=linux target=x86_64:") or self.spec.satisfies("platform=linux target=aarch64:"):
            with working_dir(join_path(self.stage.source_path, "cmd", "cdfz-plugin-host")):
                go("build", "-trimpath", "-tags", "plugins", "-o", join_path(self.prefix.bin, "cdfz-plugin-host"), ".")

    @run_after("install")
    def install_manual_pages(self):
        mkdirp(self.prefix.share.man.man1)
        with working_dir(self.stage.source_path):
            go("run", "-tags", "man", "./cmd/cdfz", "man", self.prefix.share.man.man1)

    @run_after("install")
    def install_completions(self):
        cdfz = Executable(self.prefix.bin.cdfz)
        for shell, path in (
            ("bash", bash_completion_path(self.prefix)),
            ("zsh", zsh_completion_path(self.prefix)),
            ("fish", fish_completion_path(self.prefix)),
        ):
            mkdirp(path)
            name = {"bash": "cdfz", "zsh": "_cdfz", "fish": "cdfz.fish"}[shell]
            with open(join_path(path, name), "w") as file:
                cdfz("completion", shell, output=file)

    def test_version(self):
        """the program prints its version"""
        cdfz = which(self.prefix.bin.cdfz)
        assert str(self.spec.version) in cdfz("version", output=str.split, error=str.split)
