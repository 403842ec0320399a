// Package server shows a folder of archives over HTTP: the original netCDF files with
// ranges. The archive x.nc.cdfz appears as x.nc, with the size, the time and the checksum
// of the image. Everything else in the folder appears unchanged. netCDF files are data sets
// of OPeNDAP as well, by package dap.
//
// [New] reads the source, and [Server.Serve] answers requests until its context ends.
//
// The server reads nothing outside of the source, not even through symbolic links. Names
// that begin with a dot do not appear. [Options] limit the time and the bytes of an
// answer, and the numbers of connections and of requests in flight.
package server

import (
	"io"
	"time"

	"github.com/cdfz-format/cdfz/archive/archivefs"
)

// Defaults of Options.
const (
	// DefaultCache holds 1024 blocks of the default size, for all files together.
	DefaultCache = 256 << 20
	// DefaultRequests is four times the number of requests that xarray with dask sends
	// from a large workstation. Each takes less than a megabyte.
	DefaultRequests = 256
	// DefaultConns is the number of connections. Idle ones count.
	DefaultConns = 1024
	// DefaultTime suffices for DefaultBytes at 4.8 MB/s.
	DefaultTime = time.Hour
	// DefaultBytes is the longest answer. Longer files are read in ranges.
	DefaultBytes = 16 << 30
)

// Options control New. Nil and the zero value mean the defaults.
type Options struct {
	Cache    int64         // bytes of decoded blocks kept for all files together; 0: DefaultCache
	Workers  int           // blocks of one file decoded at the same time; 0: GOMAXPROCS
	Requests int           // requests answered at the same time, others get status 503; 0: DefaultRequests; at most a quarter of the files that the program may open
	Conns    int           // open connections, others wait; 0: DefaultConns; at most half of these files
	Time     time.Duration // of a request; 0: DefaultTime
	Bytes    int64         // of an answer; 0: DefaultBytes
	// Users, if not nil, returns who may read, at each request. It must be safe for concurrent use. Nil
	// lets everybody read; if it returns nil, nobody may.
	Users func() *Users
	// Hosts are names of the server. Requests for others, other than localhost and IP
	// addresses, get status 421: pages of other sites cannot read what is served here.
	Hosts []string
	// Origins are those whose pages may read what is served without a password: see ParseOrigin. Without any,
	// pages of other sites read nothing.
	Origins []string
	// Base is the URL of the server, with a slash at its end, that the addresses in catalogues begin with. "" makes
	// them relative.
	Base string
	// Log, if not nil, gets a line in the Combined Log Format for each request, with the
	// seconds that it took at the end. Each line is one call of Write.
	Log io.Writer
	// Warn, if not nil, is called once for each damaged block that a request needs, and
	// for each archive that cannot be opened, with the name of the archive. It must be
	// safe for concurrent use.
	Warn func(name string, err error)
}

// ErrSource is the error for a source that is neither a folder nor a regular file.
var ErrSource = archivefs.ErrSource
