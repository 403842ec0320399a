package statefile

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/internal/filetime"
	"github.com/cdfz-format/cdfz/remote"
)

// Identity tells a file from all others, and from itself before a change. What a system does not tell is
// zero. The size and the time alone would not do: archives have the times of their sources.
type Identity struct {
	Size     int64         `json:"size"`             // of the archive
	Modified filetime.Time `json:"modified"`         // time of the archive, of an object in whole seconds; zero if unknown
	Changed  filetime.Time `json:"changed,omitzero"` // when it was last changed in any way, which programs cannot set
	FS       string        `json:"fs,omitempty"`     // its file system: see fileSystem
	Inode    uint64        `json:"inode,omitempty"`  // its number there
	ETag     string        `json:"etag,omitempty"`   // of an object
	object   bool          // at a URL
}

// identitySum is the start of the SHA-256 of an identity. Zero stands for an unknown one.
type identitySum [16]byte

// sum returns the sum of an identity. It is zero if the file could be another one in spite of it.
func (i *Identity) sum() identitySum {
	if i.Modified.IsZero() && i.Inode == 0 && i.ETag == "" {
		return identitySum{}
	}
	s := sha256.Sum256(fmt.Appendf(nil, "%d %d.%d %d.%d %q %d %q", i.Size, i.Modified.Unix(), i.Modified.Nanosecond(), i.Changed.Unix(), i.Changed.Nanosecond(), i.FS, i.Inode, i.ETag))
	return identitySum(s[:])
}

// OpensFirst reports whether a file has to be open before its identity is known: one at a URL that no listing has.
func (i *Identity) OpensFirst() bool { return i.object && i.sum() == identitySum{} }

// settledBefore reports whether a file that was read from a time on, in nanoseconds since 1970, has not
// changed since, if its identity is still the same. A change within the unit of the clock of a file system or
// of a store does not show in the time.
func (i *Identity) settledBefore(start int64) bool {
	last := i.Changed.Time
	if i.object && i.ETag == "" {
		last = i.Modified.Time
	}
	if last.IsZero() {
		return true
	}
	if last.Nanosecond() == 0 { // a clock of whole seconds
		last = last.Add(time.Second - 1)
	}
	return !filetime.After(last, time.Unix(0, start))
}

// fileIdentity returns the identity of a file. fileSystem is called to name its file system.
func fileIdentity(st fs.FileInfo, fileSystem func() string) Identity {
	i := Identity{Size: st.Size(), Modified: filetime.Time{Time: st.ModTime()}, FS: fileSystem()}
	i.Inode, i.Changed.Time = inodeOf(st)
	return i
}

// objectIdentity returns the identity of an object of a store, or of another file at a URL. A listing and an
// answer may write the same ETag with and without quotes, and times to other fractions of a second.
func objectIdentity(size int64, modified time.Time, etag string) Identity {
	i := Identity{Size: size, ETag: strings.Trim(strings.TrimPrefix(etag, "W/"), `"`), object: true}
	if !modified.IsZero() {
		i.Modified.Time = modified.UTC().Truncate(time.Second)
	}
	return i
}

// IdentityOf returns the identity of an open file.
func IdentityOf(name string, in *fileio.Input) Identity {
	if remote.IsURL(name) {
		return objectIdentity(in.Size, in.Modified, in.ETag)
	}
	if in.Stat == nil {
		return Identity{}
	}
	return fileIdentity(in.Stat, func() string { return fileSystem(in.Stat, in.Name) })
}

// NotedIdentity returns the identity of an open file for [State.Add]. For a file at a URL that a listing has, it is
// that of the listing, since the next listing can be compared with it. ok is false if another version was opened than was
// listed: a bucket with versions may list that again, which nobody has read.
func NotedIdentity(j *fileio.File, in *fileio.Input) (id Identity, ok bool) {
	opened := IdentityOf(j.Name, in)
	if !remote.IsURL(j.Name) || j.Modified.IsZero() && j.ETag == "" {
		return opened, true
	}
	listed := objectIdentity(in.Size, j.Modified, j.ETag)
	switch {
	case listed.ETag == "": // a member, which has the time of its source, of a volume that never changes
		return listed, true
	case opened.ETag != "":
		return listed, listed.ETag == opened.ETag
	}
	return listed, opened.Modified.IsZero() || listed.Modified.IsZero() || listed.Modified.Equal(opened.Modified.Time)
}

// ListedIdentity returns the identity of a file that is not open. That of a URL which no listing has is
// unknown.
func ListedIdentity(j *fileio.File) Identity {
	if remote.IsURL(j.Name) {
		return objectIdentity(j.Size, j.Modified, j.ETag)
	}
	st, err := os.Stat(j.Name)
	if err != nil {
		return Identity{}
	}
	return fileIdentity(st, func() string { return fileSystem(st, j.Name) })
}

// fileSystems are the names of the file systems of a run, by the numbers of their devices.
var fileSystems sync.Map

// fileSystem returns a name for the file system of a file. It stays the same when the file system is mounted
// again or the computer starts again, as far as the system tells. It is "" if that does not tell anything.
func fileSystem(st fs.FileInfo, path string) string {
	device, ok := deviceOf(st)
	if !ok {
		return ""
	}
	if name, ok := fileSystems.Load(device); ok {
		return name.(string)
	}
	name := fileSystemAt(path, device)
	fileSystems.Store(device, name)
	return name
}

// folderID identifies a folder: another one has another folderID, also one that was made later and has got
// the same inode.
type folderID struct {
	FS    string `json:"fs"`
	Inode uint64 `json:"inode"`
	Born  int64  `json:"born,omitempty"` // when it was made, in nanoseconds since 1970; 0 if unknown
}

// folderAt returns the folderID of a folder. ok is false if there is no folder, or if the system does not
// number folders.
func folderAt(path string) (id folderID, ok bool) {
	st, err := os.Stat(path)
	if err != nil || !st.IsDir() {
		return folderID{}, false
	}
	id = folderID{FS: fileSystem(st, path), Born: bornAt(path)}
	id.Inode, _ = inodeOf(st)
	return id, id.Inode != 0
}
