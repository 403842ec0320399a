-- A module for Lmod. The folder has what make install PREFIX=DIR and make -C c install PREFIX=DIR made, or a tarball of
-- the release. Set root to that folder.
local root = "/opt/cdfz/<<.Version>>"

help([[cdfz <<.Version>>: compressed archives of classic netCDF files. <<.Home>>]])
whatis("Name: cdfz")
whatis("Version: <<.Version>>")
whatis("URL: <<.Home>>")

prepend_path("PATH", pathJoin(root, isDir(pathJoin(root, "bin")) and "bin" or ""))
prepend_path("MANPATH", pathJoin(root, isDir(pathJoin(root, "share/man")) and "share/man" or "man"))
if isDir(pathJoin(root, "lib")) then
  prepend_path("LD_LIBRARY_PATH", pathJoin(root, "lib"))
  prepend_path("PKG_CONFIG_PATH", pathJoin(root, "lib/pkgconfig"))
  prepend_path("HDF5_PLUGIN_PATH", pathJoin(root, "lib/hdf5/plugin"))
end
