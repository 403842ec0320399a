// Package plugins gives a program the filters of HDF5's plugins, which are shared libraries, and netcdf-c's codecs for
// them. [Load] makes them known to package filters, and so to all archives that the program reads and writes.
//
// Libraries are loaded by other processes, of the program cdfz-plugin-host, never by this one. If a library crashes, hangs
// or takes all memory, its block fails with filters.ErrUnavailable. The program exists for Linux on amd64 and arm64:
//
//	go install -tags plugins github.com/cdfz-format/cdfz/cmd/cdfz-plugin-host@latest
//
// docs/filters.md, "Plugins", describes which libraries are used, and what plugins may do. The package imports filters/all.
package plugins

import (
	"errors"
	"fmt"
	"os"

	"github.com/cdfz-format/cdfz/internal/hdf5plugin"
)

// Options are for [Load]. Nil and zero values mean the defaults.
type Options struct {
	// Folders are searched in this order, and the files of each by name. The first library with a filter id provides
	// it. Nil means the folders that HDF5 searches: those in the variable HDF5_PLUGIN_PATH, or the folders of HDF5's
	// packages if it is not set, or none if HDF5_PLUGIN_PRELOAD is "::".
	Folders []string
	// Host is the path of cdfz-plugin-host. By default it is in the folder of this program, or on PATH.
	Host string
}

// Load registers the filters of the libraries in folders for all chains that are made afterwards, except those that are
// registered already. Libraries without a filter or codec are ignored. If no file could be a library, no process is
// started.
//
// The error matches filters.ErrUnavailable if no process can be started: cdfz-plugin-host is missing, is of another
// version, or does not exist for this system. A folder of [Options.Folders] that cannot be read is an error of
// the file system, after the others were loaded. Of the folders that HDF5 searches, such folders are skipped.
//
// The processes end with the program. Load may be called again, for further folders. It is safe for concurrent use.
func Load(o *Options) error {
	if o == nil {
		o = &Options{}
	}
	folders := o.Folders
	if folders == nil {
		folders = searched()
	}
	set, err := hdf5plugin.Open(&hdf5plugin.Options{Folders: folders, Host: o.Host})
	if err != nil {
		return err
	}
	if err := set.Register(); err != nil {
		return err
	}
	if o.Folders == nil {
		return nil
	}
	for _, s := range set.Skipped() {
		err = errors.Join(err, fmt.Errorf("plugins: %w", s.Err))
	}
	return err
}

// searched lists the folders that HDF5 searches.
func searched() []string {
	if _, set := os.LookupEnv("HDF5_PLUGIN_PATH"); !set && os.Getenv("HDF5_PLUGIN_PRELOAD") != "::" {
		return hdf5plugin.DefaultFolders()
	}
	return hdf5plugin.SearchPath(nil, os.Getenv)
}
