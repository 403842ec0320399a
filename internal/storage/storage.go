// Package storage tells where open files are stored: whether their file system keeps what is flushed,
// whether cdfz itself shows them, and whether two of them are independent. It knows nothing about netCDF.
//
// It is asked before a file is deleted because another one exists. What cannot be found out counts against
// that. A user can name a mount, with [Mounts.Name], of which more is known than the system tells.
//
// What it looks at is the kind and the options of a mount, the layers of an overlay, and the file behind
// a loop device. It does not look at disks: two partitions, or logical volumes, of one disk are independent.
// Nor does it know what a server does with a flush, a virtual machine's host with that of a disk, or a disk
// with its cache.
package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// ShownAttribute is the extended attribute of all files of cdfz mount, with any value. It is not listed, so
// that copies of these files do not have it. It tells them apart from other files where the kind of mount is
// hidden: by an overlay, or by a program that mounts them a second time. Files of cdfz run, which would be
// written more slowly, do not have it.
const ShownAttribute = "user.cdfz.shown"

// ShownHeader is the header of all answers of cdfz serve, with any value. What they have is no other file than
// the archive on the server.
const ShownHeader = "Cdfz-Shown"

// Mounts are the mounts of the system, and what the user has stated about some of them. The zero value has
// no such statements. It is safe for concurrent use after the last call of Name.
type Mounts struct {
	named []string // file systems, as in Place.system
}

// Named reports whether the user has named mounts.
func (m *Mounts) Named() bool { return len(m.named) > 0 }

// Name states that the file system mounted on a folder keeps what is flushed, and that its files are none
// of another file system. It is an error if the folder is no mount point: nothing may be mounted there yet.
func (m *Mounts) Name(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := m.Of(f)
	if err != nil {
		return err
	}
	on, err := mountPoint(f, p)
	if err != nil {
		return err
	}
	if !on {
		if p.at != "" {
			return fmt.Errorf("expected a mount point, found a folder of the file system that is mounted on %s", p.at)
		}
		return errors.New("expected a mount point, found another folder")
	}
	m.named = append(m.named, p.system)
	return nil
}

// Place is where a file was stored when it was looked at.
type Place struct {
	info    fs.FileInfo // nil for an object
	ino     uint64      // 0 if unknown
	changed time.Time   // the time of the last change of its status, to the microsecond

	kind    string   // of file system, "" if unknown
	at      string   // where it is mounted, "" if unknown
	system  string   // identifies the file system, "" if unknown
	volumes []string // what the file system is stored on
	unknown string   // why volumes is incomplete, or ""
	weak    string   // why it may lose what is flushed, or ""
	memory  bool     // because it is in memory
	shown   bool
	named   bool
	foreign bool // numbers and times of files are what a program wants
	partial bool // an overlay whose files may have only a status of their own
	deleted bool // from a layer of an overlay, which still shows it
}

// Object returns the place of an object of a store. store identifies the store. Stores keep what they have
// accepted.
func Object(store string) *Place {
	return &Place{kind: "store", system: store, volumes: []string{store}}
}

// Web returns the place of a file of a web server, or of what else has no place that the system knows. shown
// tells that cdfz serves it.
func Web(shown bool) *Place {
	return &Place{kind: "web", unknown: "nobody knows where a server has it", weak: "nobody knows", shown: shown}
}

// WeakError reports a file on a file system that may lose what is flushed.
type WeakError struct {
	Kind   string // of file system, as the system calls it, "" if unknown
	At     string // where it is mounted, "" if unknown
	Why    string
	Memory bool // it certainly does
	Shown  bool // by cdfz
}

// Error implements error.
func (e *WeakError) Error() string {
	kind, at := e.Kind, ""
	if kind == "" {
		kind = "unknown"
	}
	if e.At != "" {
		at = ", mounted on " + e.At
	}
	return fmt.Sprintf("is on a file system that may lose what is flushed (%s%s): %s", kind, at, e.Why)
}

// Durable returns nil if the file stays there once it was flushed, or else a *WeakError.
func (p *Place) Durable() error {
	switch {
	case p.shown:
		return &WeakError{Kind: p.kind, At: p.at, Why: "cdfz shows its files", Shown: true}
	case p.deleted:
		return &WeakError{Kind: p.kind, At: p.at, Why: "it was deleted from a layer", Memory: true}
	case p.weak == "" || p.named:
		return nil
	}
	return &WeakError{Kind: p.kind, At: p.at, Why: p.weak, Memory: p.memory}
}

// Shown reports whether cdfz shows the file (mount, run, serve), also through an overlay or a bind mount: it
// is no other file than the archive that it is decoded from.
func (p *Place) Shown() bool { return p.shown }

// Deleted reports whether the file was deleted from a layer of an overlay, which shows it only as long as it
// remembers it.
func (p *Place) Deleted() bool { return p.deleted }

// Same returns an error if two files are one, or may be: under two names, by a bind mount, by an overlay,
// or by a server on this machine.
func (p *Place) Same(q *Place) error {
	if p.info != nil && q.info != nil && os.SameFile(p.info, q.info) {
		return errors.New("it is the same file")
	}
	if p.shown || q.shown {
		return errors.New("cdfz shows it")
	}
	if p.info == nil || q.info == nil {
		return nil
	}
	within := p.system != "" && p.system == q.system
	if !within && p.ino != 0 && uint32(p.ino) == uint32(q.ino) && p.info.Size() == q.info.Size() && p.changed.Equal(q.changed) {
		return fmt.Errorf("it has the same number and times on two file systems (%s and %s), as one file has", p.kind, q.kind)
	}
	for _, x := range []*Place{p, q} {
		switch {
		case x.named:
		case x.foreign:
			return fmt.Errorf("a file system by a program (%s, mounted on %s) may show it a second time", x.kind, x.at)
		case x.partial && (within || p.disjoint(q) != nil):
			return fmt.Errorf("an overlay with metacopy=on (mounted on %s) may show its bytes a second time", x.at)
		}
	}
	return nil
}

// Apart returns an error unless two files are known to be stored independently of each other. Stores are
// independent of all that is local.
func (p *Place) Apart(q *Place) error {
	if err := p.Same(q); err != nil {
		return err
	}
	if p.system != "" && p.system == q.system {
		return errors.New("on the same file system or in the same store")
	}
	if store := p.kind == "store"; store != (q.kind == "store") || p.named || q.named {
		return nil
	}
	return p.disjoint(q)
}

// disjoint returns an error unless it is known that two file systems are stored on nothing in common.
func (p *Place) disjoint(q *Place) error {
	for _, x := range []*Place{p, q} {
		if x.unknown != "" {
			return fmt.Errorf("it may be on the same disk: %s", x.unknown)
		}
	}
	for _, v := range p.volumes {
		if slices.Contains(q.volumes, v) {
			return fmt.Errorf("both file systems are on %s", v)
		}
	}
	return nil
}
