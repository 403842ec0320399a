// Package hdf5plugin adds the filters of HDF5's plugins, which are shared libraries, to package
// filters. It also finds netcdf-c's codecs for them.
//
// [Open] examines all libraries in folders that the user has named. [Set.Register] makes
// their filters available to all chains of the program, except those that are built in.
//
// Libraries are loaded by other processes, cdfz-plugin-host, and never by this one. Each
// has limits for time and memory. If a library crashes, hangs or takes all memory, its
// block fails. The processes exist only on Linux, on amd64 and arm64. The package covers
// HDF5's filters, but not its files, property lists and types.
package hdf5plugin

import (
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"time"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/discovery"
)

// Options are for [Open]. The zero value of a field means its default.
type Options struct {
	// Folders are searched in this order, and the files of each by name. The first
	// library with a filter id provides it. Folders that cannot be read are skipped and
	// listed in [Set.Skipped], unless they are default folders that do not exist.
	Folders []string
	// Host is the path of cdfz-plugin-host. By default it is in the folder of the program, or
	// on PATH.
	Host string
	// Processes is the number of processes at the same time, by default GOMAXPROCS. They are
	// started when they are needed.
	Processes int
	// Timeout is the time limit of a call of a library, by default 1 minute, plus a second
	// for each MiB of the block. [Open] waits for no library longer than 5 seconds.
	Timeout time.Duration
	// Memory is the number of bytes that a process may allocate in addition to a few copies of
	// the block, by default 1 GiB.
	Memory int64
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Processes <= 0 {
		d.Processes = runtime.GOMAXPROCS(0)
	}
	if d.Timeout <= 0 {
		d.Timeout = time.Minute
	}
	if d.Memory <= 0 {
		d.Memory = 1 << 30
	}
	return d
}

// Set is the libraries of some folders, with the processes that load them. It is safe for
// concurrent use.
type Set struct {
	skipped   []Skipped
	libraries []Library
	pairs     []Pair
	pool      *pool
}

// Skipped is a folder that could not be read.
type Skipped struct {
	Folder string
	Err    error
}

// Open examines the libraries in folders. Without any file that could be a library it
// starts no process. The error is [ErrHost] if no process can be started. Libraries that
// are not plugins, crash or hang are no errors: [Set.Libraries] lists the reasons.
//
// The caller may close the set when no coder uses its filters any more. Its processes end with
// the program at the latest.
func Open(o *Options) (*Set, error) {
	opts := o.withDefaults()
	s := &Set{}
	var paths []string
	for _, dir := range opts.Folders {
		files, err := candidates(dir)
		if err != nil && !(errors.Is(err, fs.ErrNotExist) && slices.Contains(DefaultFolders(), dir)) {
			s.skipped = append(s.skipped, Skipped{dir, err})
		}
		paths = append(paths, files...)
	}
	s.pool = newPool(opts)
	if len(paths) == 0 {
		return s, nil
	}
	for _, path := range paths {
		l, err := s.pool.examine(path)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.libraries = append(s.libraries, l)
	}
	s.pairs = pair(s.libraries)
	return s, nil
}

// Close ends the processes. Filters of the set fail afterwards.
func (s *Set) Close() { s.pool.close() }

// Skipped lists the folders that could not be read.
func (s *Set) Skipped() []Skipped { return s.skipped }

// Libraries lists all files that could be plugins, in the order of the search.
func (s *Set) Libraries() []Library { return s.libraries }

// Pairs lists the filters and codecs that were found, in increasing order of their ids.
func (s *Set) Pairs() []Pair { return s.pairs }

// Register registers the filters whose ids are not registered yet. Registered filters are
// paired with a library's own codec for them, or with a default one if they have none.
func (s *Set) Register() error {
	known := filters.Registered()
	for _, p := range s.pairs {
		var err error
		switch c := s.codec(p); {
		case !slices.Contains(known, p.ID):
			if p.Filter != nil {
				err = filters.Register(s.Method(p))
			}
		case c != nil && (!p.Codec.Default || filters.CodecID(p.ID) == ""):
			err = discovery.Pair(p.ID, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
