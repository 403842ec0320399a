// Package access keeps secrets: a file that is made from other files gets rights with which nobody
// can read it who could not read all of these.
//
// The rights of a file are its owner, its group, its permission bits and its POSIX ACL. A new file
// gets them as they are if it has the owner and the group of its source, and if the system can
// store the ACL. Otherwise they are narrowed: each class of users gets what every member of that
// class surely had. The folders above the sources count, too: what lies in a folder that only its
// owner may enter is not readable by others in a folder that all may enter.
//
// ACLs of NFSv4 and of other kinds cannot be compared, so files with entries for single users or
// groups in them are treated as if only their owner could use them.
package access

import (
	"io/fs"
	"slices"
)

// perm are rights as in a digit of a mode.
type perm uint8

const (
	all    perm = 7
	search perm = 1 // of a folder
)

// Rights describe who may use a file or a folder. They are not changed once made, and are safe for
// concurrent use.
type Rights struct {
	uid, gid uint32
	// What the owner, members of the group, and all others may do. The mask of an ACL is applied.
	owner, group, other perm
	named               []entry
	preset              []byte      // the default ACL of a folder, as the system stores it
	id                  fs.FileInfo // which file it is
	record              *record     // of a file that is described by a record, else nil
}

// entry is what an ACL allows a user or the members of a group, with the mask applied.
type entry struct {
	user bool
	id   uint32
	perm perm
}

// ownerOnly are the rights of a file about which nothing more is known.
func ownerOnly(uid, gid uint32) *Rights { return &Rights{uid: uid, gid: gid, owner: all} }

// fromMode sets the permission bits.
func (r *Rights) fromMode(m fs.FileMode) {
	r.owner, r.group, r.other = perm(m>>6)&all, perm(m>>3)&all, perm(m)&all
}

// mode returns the permission bits of a file without an ACL.
func (r *Rights) mode() fs.FileMode {
	return fs.FileMode(r.owner)<<6 | fs.FileMode(r.group)<<3 | fs.FileMode(r.other)
}

// ofUser returns what a user surely may do.
func (r *Rights) ofUser(uid uint32) perm {
	if uid == r.uid {
		return r.owner
	}
	if p, ok := r.entry(true, uid); ok {
		return p
	}
	return r.ofStranger(nil)
}

// entry returns what an entry of the ACL allows.
func (r *Rights) entry(user bool, id uint32) (perm, bool) {
	for _, e := range r.named {
		if e.user == user && e.id == id {
			return e.perm, true
		}
	}
	return 0, false
}

// ofStranger returns what everybody may do who is not named: members of any groups, but of none that
// w names, or of none at all. A member of several groups may do what one of them may.
func (r *Rights) ofStranger(w *Rights) perm {
	p := r.other
	if !w.hasGroup(r.gid) {
		p &= r.group
	}
	for _, e := range r.named {
		if !e.user && !w.hasGroup(e.id) {
			p &= e.perm
		}
	}
	return p
}

// ofGroup returns what all members of a group may do, but those whom w names.
func (r *Rights) ofGroup(gid uint32, w *Rights) perm {
	p, ok := r.entry(false, gid)
	switch {
	case gid == r.gid && ok: // twice: one of both suffices
		p |= r.group
	case gid == r.gid:
		p = r.group
	case !ok:
		p = r.ofStranger(nil)
	}
	return p & r.ofSingle(w)
}

// ofSingle returns what all users may do whom r names, but w does not.
func (r *Rights) ofSingle(w *Rights) perm {
	p := all
	if !w.hasUser(r.uid) {
		p &= r.owner
	}
	for _, e := range r.named {
		if e.user && !w.hasUser(e.id) {
			p &= e.perm
		}
	}
	return p
}

// hasUser reports whether there is a rule for a user.
func (r *Rights) hasUser(uid uint32) bool {
	if r == nil {
		return false
	}
	_, ok := r.entry(true, uid)
	return ok || r.uid == uid
}

// hasGroup reports whether there is a rule for a group.
func (r *Rights) hasGroup(gid uint32) bool {
	if r == nil {
		return false
	}
	_, ok := r.entry(false, gid)
	return ok || r.gid == gid
}

// limit takes from all classes but the owner what their members may not surely do with another file.
func (w *Rights) limit(r *Rights) {
	for i := range w.named {
		e := &w.named[i]
		if e.user {
			e.perm &= r.ofUser(e.id)
		} else {
			e.perm &= r.ofGroup(e.id, w)
		}
	}
	w.group &= r.ofGroup(w.gid, w)
	w.other &= r.ofStranger(w) & r.ofSingle(w)
}

// within reports whether all who may search folder t may surely search folder r. The user me and root
// do not count.
func (t *Rights) within(r *Rights, me uint32) bool {
	w := *t
	w.named = slices.Clone(t.named)
	w.limit(r)
	if t.uid != r.uid && t.uid != me && t.uid != 0 && t.owner&search&^r.ofUser(t.uid) != 0 {
		return false
	}
	for i, e := range t.named {
		if (e.perm^w.named[i].perm)&search != 0 {
			return false
		}
	}
	return (t.group^w.group|t.other^w.other)&search == 0
}

// reach returns the limits that a folder sets to the use of the files in it. It is nil if all may
// search the folder.
func (r *Rights) reach() *Rights {
	free := true
	within := func(p perm) perm {
		if p&search == 0 {
			free = false
			return 0
		}
		return all
	}
	out := &Rights{uid: r.uid, gid: r.gid, owner: all, group: within(r.group), other: within(r.other)}
	for _, e := range r.named {
		out.named = append(out.named, entry{e.user, e.id, within(e.perm)})
	}
	if free {
		return nil
	}
	return out
}
