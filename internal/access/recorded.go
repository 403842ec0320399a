package access

import (
	"io/fs"
	"os"
)

// record is what a record of a file has beside its rights.
type record struct {
	mode fs.FileMode // with ModeSetuid, ModeSetgid and ModeSticky
	acl  []byte      // the ACL as the system stores it, nil for none
}

// Recorded returns the rights of a file of which there is only a record: its owner, its group, its mode, its POSIX ACL and
// the default ACL of a folder, as the system stores these. Where the system has no ACLs, they are left out.
func Recorded(uid, gid uint32, mode fs.FileMode, acl, preset []byte) *Rights {
	r := &Rights{uid: uid, gid: gid, record: &record{mode: mode & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)}}
	r.fromMode(mode)
	if len(acl) > 0 && accessACL != "" {
		if !r.fromACL(acl) {
			r = ownerOnly(uid, gid)
			r.record = &record{mode: mode & 0o700}
			return r
		}
		r.record.acl = acl
	}
	r.preset = preset
	return r
}

// Within reports whether all who may use a folder with the rights r may use one with the rights of o, too.
func (r *Rights) Within(o *Rights) bool { return r.uid == o.uid && r.within(o, me()) }

// SetRecorded gives a file or a folder that is complete the rights of Copy, which Recorded has made, with the upper bits of
// its mode. It returns false if it got others: this process may not give it away, the file system cannot store them, or
// Others forbid them. Then it has less.
func (l *Limits) SetRecorded(f *os.File) bool {
	st, err := f.Stat()
	if err != nil {
		return false
	}
	now := fromInfo(st)
	if chown(f, now, l.Copy) {
		if st, err = f.Stat(); err != nil {
			return false
		}
		now = fromInfo(st)
	}
	if !l.fit(now, 0, l.Copy.named).equal(l.Copy) {
		l.set(f, 0)
		return false
	}
	rec := l.Copy.record
	if rec.acl == nil && !dropACL(f, accessACL) || rec.acl != nil && !setRaw(f, rec.acl) {
		l.set(f, 0)
		return false
	}
	if st.IsDir() {
		setPreset(f, l.Copy.preset)
	}
	const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	if st, err = f.Stat(); err == nil && st.Mode()&bits == rec.mode {
		return true
	}
	_ = f.Chmod(rec.mode)
	st, err = f.Stat()
	return err == nil && st.Mode()&bits == rec.mode
}
