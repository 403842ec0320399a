// Package fusefs shows a folder of archives as a folder of the original netCDF files: a
// read-only FUSE file system. The archive x.nc.cdfz appears as x.nc, with the size of
// the image, and the times, owner and permissions of the archive. The description x.ncml
// of joined files appears as x.nc, too, but not for other users. A volume appears as a
// folder with the originals in it: its members have its owner and rights, since who may read
// it may read them. One whose end is damaged stays a file. Everything else appears
// unchanged.
//
// [Mount] mounts a folder for everybody. [MountDevice] and [Serve] mount it in one mount namespace,
// where everything but the originals can be changed as before. Both work on Linux.
//
// The rules for names are those of archivefs: an archive next to an existing x.nc
// appears as x.nc.cdfz, and so does a file of that name that is not an archive or that
// cannot be read. A damaged archive that cannot be opened appears as x.nc, and looking
// at it fails with EIO, so that nothing mistakes it for a missing or an empty file.
//
// Symbolic links appear unchanged, except that one named x.nc.cdfz that leads to an
// archive inside the source appears as the file x.nc. Links that leave the source are
// never followed by the server.
package fusefs

import (
	"errors"
	"time"
)

// DefaultCache is the default memory for decoded blocks, in bytes. It holds 1024 blocks
// of the default size, for all files together.
const DefaultCache = 256 << 20

// Options control Mount. Nil and the zero value mean the defaults.
type Options struct {
	Cache        int64         // bytes of decoded blocks kept for all files together; 0: DefaultCache
	Workers      int           // blocks of one file decoded at the same time; 0: GOMAXPROCS
	Idle         time.Duration // unmount after this time without open files and requests; 0: never
	WithArchives bool          // show the archives as well
	AllowOther   bool          // let other users in; permissions and lists below the source are checked; not for Serve, and not with joined files
	// OneOwner makes Serve show this process's user and group as the owner of all files. It is for
	// a mount in a user namespace that knows only these: the kernel refuses all changes of files
	// whose owner is unknown there, even if the user may change them.
	OneOwner bool
	// Warn, if not nil, is called once for each damaged block that a read needs, and for
	// each archive that cannot be opened, with the name of the archive. It must be safe
	// for concurrent use.
	Warn func(name string, err error)
}

// Errors of Mount and MountDevice. Others are those of the system and of archive.New.
var (
	// ErrNoFUSE reports a system or a container without FUSE.
	ErrNoFUSE = errors.New("there is no /dev/fuse")
	ErrSource = errors.New("expected a folder, an archive named *.cdfz, a volume named *.tar, or joined files named *.ncml")
	ErrTarget = errors.New("expected a folder to mount on")
	ErrInside = errors.New("the mount point lies inside the source")
	ErrStale  = errors.New("an earlier mount has lost its server: unmount it with umount")
)
