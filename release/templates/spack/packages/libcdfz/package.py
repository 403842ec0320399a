# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Libcdfz(MakefilePackage):
    """Reader of cdfz archives in C, the format for netCDF-C and the plugin for HDF5."""

    homepage = "<<.Home>>"
    url = "<<.Source>>"
    git = "<<.Home>>.git"

    license("Apache-2.0", checked_by="cdfz-format")

    version("<<.Version>>", sha256="<<.SHA256>>")

    variant("netcdf", default=True, description="Build the format for netCDF-C")
    variant("hdf5", default=True, description="Build the plugin for HDF5")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("netcdf-c@4.9:", when="+netcdf")
    depends_on("hdf5", when="+hdf5")

    build_directory = "c"

    @property
    def build_targets(self):
        targets = ["all", "OUT=../bin"]
        if self.spec.satisfies("+netcdf"):
            targets += ["netcdf", "NETCDF_CFLAGS=-I" + self.spec["netcdf-c"].prefix.include]
        if self.spec.satisfies("+hdf5"):
            targets += ["hdf5", "HDF5_CFLAGS=-I" + self.spec["hdf5"].prefix.include]
        return targets

    @property
    def install_targets(self):
        # Of the two, what was built is there; headers of the system must not decide.
        return ["install", "OUT=../bin", "PREFIX=" + self.prefix] + self.build_targets[3:]

    def setup_run_environment(self, env):
        if self.spec.satisfies("+hdf5"):
            env.prepend_path("HDF5_PLUGIN_PATH", self.prefix.lib.hdf5.plugin)
