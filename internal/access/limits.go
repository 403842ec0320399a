package access

import (
	"io/fs"
	"os"
	"slices"
)

// Of returns the rights of an open file or folder.
func Of(f *os.File) (*Rights, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return ofOpen(f, st), nil
}

// OfPath returns the rights of the file or the folder that a path leads to.
func OfPath(path string) (*Rights, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return ofPath(path, st), nil
}

// FromInfo returns the rights of a file of which only a description is at hand. If the file has an ACL, the
// bits of its group are those of the ACL's mask, so that they can be too wide: Of is better.
func FromInfo(st fs.FileInfo) *Rights { return fromInfo(st) }

// Limits are what a new file must not exceed. The zero value sets none. They must not be changed while they
// are in use.
type Limits struct {
	// Copy, if not nil, is the one source whose owner, group, permission bits and ACL the file gets, as
	// far as possible.
	Copy *Rights
	// Others are rights that limit the file, too.
	Others []*Rights
	// Fresh takes the permission bits of a new file, without what the limits forbid. It is implied by nil
	// for Copy.
	Fresh bool
}

// The modes with which files and folders are made that get their rights later.
const (
	PrivateFile   fs.FileMode = 0o600
	PrivateFolder fs.FileMode = 0o700
)

// None reports whether there are no limits.
func (l *Limits) None() bool { return l == nil || l.Copy == nil && len(l.Others) == 0 }

// Set gives a new file its rights, once it is complete. The file must have been made with the mode
// PrivateFile. What the file system cannot store stays narrow.
func (l *Limits) Set(f *os.File) {
	switch {
	case !l.None():
		l.set(f, 0o666)
	case l != nil && l.Fresh && !hasACL(f): // an ACL is of the folder, and its mask is that of PrivateFile
		_ = f.Chmod(0o666 &^ umask())
	}
}

// SetFolder gives a new folder its rights, with limits that are those of folders. It must have been made with
// the mode PrivateFolder. Its owner may do all, also in the copy of a folder that is read-only: a later run adds
// files to it.
func (l *Limits) SetFolder(f *os.File) {
	if l.None() {
		return
	}
	at := *l
	if l.Copy != nil {
		open := *l.Copy
		open.owner = all
		at.Copy = &open
	}
	at.set(f, 0o777)
}

// SetStore gives a file or a folder of a store that is a folder its rights: those who may read it may list its
// folders.
func (l *Limits) SetStore(f *os.File) {
	st, err := f.Stat()
	if err != nil || !st.IsDir() || l.None() {
		l.Set(f)
		return
	}
	at := Limits{Fresh: true}
	if l.Copy != nil {
		at.Copy = l.Copy.Listable()
	}
	for _, r := range l.Others {
		at.Others = append(at.Others, r.Listable())
	}
	at.set(f, 0o777)
}

// Listable returns the rights of a folder for those who may read a file.
func (r *Rights) Listable() *Rights {
	const read perm = 4
	folder := func(p perm) perm {
		if p&read == 0 {
			return 0
		}
		return all
	}
	out := &Rights{uid: r.uid, gid: r.gid, owner: all, group: folder(r.group), other: folder(r.other), named: slices.Clone(r.named)}
	for i := range out.named {
		out.named[i].perm = folder(out.named[i].perm)
	}
	return out
}

// set gives a new file its rights. fresh is the mode of a new file before the umask.
func (l *Limits) set(f *os.File, fresh fs.FileMode) {
	st, err := f.Stat()
	if err != nil {
		return
	}
	new := fromInfo(st)
	var named []entry
	if l.Copy != nil {
		if chown(f, new, l.Copy) {
			if st, err = f.Stat(); err != nil {
				return
			}
			new = fromInfo(st)
		}
		named = l.Copy.named
	}
	if len(named) == 0 || !l.fit(new, fresh, named).setACL(f) {
		mode := l.fit(new, fresh, nil).mode()
		if !dropACL(f, accessACL) { // the mode would be its mask
			mode &= 0o700
		}
		if st.IsDir() {
			mode |= st.Mode() & fs.ModeSetgid // it has that from the folder above it
			if l.Copy != nil && l.Copy.id != nil && !l.Fresh {
				mode |= l.Copy.id.Mode() & (fs.ModeSetgid | fs.ModeSticky)
			}
		}
		_ = f.Chmod(mode)
	}
	if st.IsDir() {
		var preset []byte
		if l.Copy != nil && l.Copy.uid == new.uid && l.Copy.gid == new.gid {
			preset = l.Copy.preset
		}
		setPreset(f, preset)
	}
}

// fit returns the most rights that the limits allow a file with the owner and the group of new. named are the
// users and groups that its ACL may name.
func (l *Limits) fit(new *Rights, fresh fs.FileMode, named []entry) *Rights {
	w := &Rights{uid: new.uid, gid: new.gid, group: all, other: all, named: slices.Clone(named)}
	for i := range w.named {
		w.named[i].perm = all
	}
	if l.Copy != nil {
		w.limit(l.Copy)
		w.owner = l.Copy.owner
	}
	if l.Copy == nil || l.Fresh {
		base := &Rights{uid: new.uid, gid: new.gid}
		base.fromMode(fresh &^ umask())
		w.owner = base.owner
		w.group &= base.group
		w.other &= base.other
		for i := range w.named {
			w.named[i].perm &= base.group
		}
	}
	for _, r := range l.Others {
		w.limit(r)
	}
	return w
}
