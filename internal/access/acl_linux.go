package access

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// The attributes with ACLs of POSIX and of NFSv4.
const (
	accessACL  = "system.posix_acl_access"
	defaultACL = "system.posix_acl_default"
	nfsACL     = "system.nfs4_acl"
)

// A POSIX ACL is stored as a version of 4 bytes and entries of 8 bytes: tag, permissions, id. Numbers
// are little-endian.
const (
	aclVersion  = 2
	aclUserObj  = 0x01
	aclUser     = 0x02
	aclGroupObj = 0x04
	aclGroup    = 0x08
	aclMask     = 0x10
	aclOther    = 0x20
	aclNobody   = 1<<32 - 1 // the id of entries without one
)

// attribute returns an extended attribute, which get reads. ok is false if the file has none.
func attribute(get func(name string, dst []byte) (int, error), name string) (value []byte, ok bool, err error) {
	b := make([]byte, 256)
	for {
		n, err := get(name, b)
		switch {
		case err == nil:
			return b[:n], n > 0, nil
		case errors.Is(err, unix.ENODATA):
			return nil, false, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ERANGE) && len(b) < 1<<16:
			b = make([]byte, 1<<16)
		default:
			return nil, false, err
		}
	}
}

func ofOpen(f *os.File, st fs.FileInfo) *Rights {
	return of(st, func(name string, dst []byte) (int, error) { return unix.Fgetxattr(int(f.Fd()), name, dst) })
}

func ofPath(path string, st fs.FileInfo) *Rights {
	return of(st, func(name string, dst []byte) (int, error) { return unix.Getxattr(path, name, dst) })
}

// of returns the rights of a file with these attributes.
func of(st fs.FileInfo, get func(name string, dst []byte) (int, error)) *Rights {
	r := fromInfo(st)
	private := ownerOnly(r.uid, r.gid)
	private.owner, private.id = r.owner, st
	acl, ok, err := attribute(get, accessACL)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		if acl, ok, err := attribute(get, nfsACL); ok && err == nil && !plainNFS(acl) {
			return private
		}
		return r
	case err != nil || ok && !r.fromACL(acl):
		return private
	}
	if st.IsDir() {
		if r.preset, _, err = attribute(get, defaultACL); err != nil {
			r.preset = nil
		}
	}
	return r
}

// fromACL sets what a POSIX ACL allows.
func (r *Rights) fromACL(b []byte) bool {
	if len(b) < 4 || len(b)%8 != 4 || binary.LittleEndian.Uint32(b) != aclVersion {
		return false
	}
	mask := all
	for at := b[4:]; len(at) > 0; at = at[8:] {
		p := perm(binary.LittleEndian.Uint16(at[2:])) & all
		id := binary.LittleEndian.Uint32(at[4:])
		switch binary.LittleEndian.Uint16(at) {
		case aclUserObj:
			r.owner = p
		case aclUser:
			r.named = append(r.named, entry{true, id, p})
		case aclGroupObj:
			r.group = p
		case aclGroup:
			r.named = append(r.named, entry{false, id, p})
		case aclMask:
			mask = p
		case aclOther:
			r.other = p
		default:
			return false
		}
	}
	r.group &= mask
	for i := range r.named {
		r.named[i].perm &= mask
	}
	return true
}

// acl returns the POSIX ACL with these rights.
func (r *Rights) acl() []byte {
	b := binary.LittleEndian.AppendUint32(nil, aclVersion)
	add := func(tag uint16, p perm, id uint32) {
		b = binary.LittleEndian.AppendUint16(b, tag)
		b = binary.LittleEndian.AppendUint16(b, uint16(p))
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	named := func(tag uint16, user bool) {
		for _, e := range r.named { // in the order of the source, which is that of ids
			if e.user == user {
				add(tag, e.perm, e.id)
			}
		}
	}
	add(aclUserObj, r.owner, aclNobody)
	named(aclUser, true)
	add(aclGroupObj, r.group, aclNobody)
	named(aclGroup, false)
	add(aclMask, r.mask(), aclNobody)
	add(aclOther, r.other, aclNobody)
	return b
}

// plainNFS reports whether an ACL of NFSv4 has rules for the owner, the group and everybody only.
// Then the mode tells all. It is a number of rules, each with type, flags, rights and the length of a
// name, which is padded to 4 bytes. Numbers are big-endian and have 4 bytes.
func plainNFS(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	n := binary.BigEndian.Uint32(b)
	for b = b[4:]; n > 0; n-- {
		if len(b) < 16 {
			return false
		}
		length := int64(binary.BigEndian.Uint32(b[12:]))
		if b = b[16:]; int64(len(b)) < length {
			return false
		}
		switch who := string(b[:length]); who {
		case "OWNER@", "GROUP@", "EVERYONE@":
		default:
			return false
		}
		b = b[min((length+3)&^3, int64(len(b))):]
	}
	return true
}

// hasACL reports whether an open file may have an ACL.
func hasACL(f *os.File) bool {
	_, err := unix.Fgetxattr(int(f.Fd()), accessACL, nil)
	return !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.EOPNOTSUPP)
}

// mask returns the rights of all to whom the mask applies.
func (r *Rights) mask() perm {
	mask := r.group
	for _, e := range r.named {
		mask |= e.perm
	}
	return mask
}

// setACL gives an open file the ACL of its rights. It returns false if the system cannot do that, or would not
// look at the ACL: Linux does not if the mask is empty, and takes named users for others.
func (r *Rights) setACL(f *os.File) bool {
	return r.mask() != 0 && unix.Fsetxattr(int(f.Fd()), accessACL, r.acl(), 0) == nil
}

// dropACL removes the ACL that a new file has from its folder. It returns false if it may have one
// still.
func dropACL(f *os.File, name string) bool {
	err := unix.Fremovexattr(int(f.Fd()), name)
	return err == nil || errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EOPNOTSUPP)
}

// setPreset gives a new folder a default ACL, nil for none.
func setPreset(f *os.File, acl []byte) {
	if acl == nil {
		dropACL(f, defaultACL)
		return
	}
	now := make([]byte, len(acl))
	if n, err := unix.Fgetxattr(int(f.Fd()), defaultACL, now); err == nil && bytes.Equal(now[:n], acl) {
		return
	}
	if unix.Fsetxattr(int(f.Fd()), defaultACL, acl, 0) != nil {
		dropACL(f, defaultACL)
	}
}

// setRaw gives an open file an ACL as the system stores it.
func setRaw(f *os.File, acl []byte) bool {
	return unix.Fsetxattr(int(f.Fd()), accessACL, acl, 0) == nil
}
