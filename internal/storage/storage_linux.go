package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	magicVboxsf  = 0x786f4256
	fiemap       = 0xc020660b // FS_IOC_FIEMAP
	maxNested    = 16         // file systems below file systems
	cdfzKind     = "fuse.cdfz"
	inMemory     = "it is in memory"
	byProgram    = "a program serves it (FUSE), and the system reports flushes as done that a program does not know"
	notFlushed   = "it is mounted with %s, which leaves out flushes"
	hiddenLayers = "the layers of the overlay are out of sight"
)

// memoryKinds have nothing but memory. rootfs is one of them, which the number of its kind tells.
var (
	memoryKinds   = []string{"tmpfs", "ramfs", "hugetlbfs", "devtmpfs"}
	memoryNumbers = []int64{unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.HUGETLBFS_MAGIC}
)

// unflushed are mount options with which fsync(2) returns before the data are on disk: of ext4, xfs, btrfs
// and others; reiserfs; f2fs; jfs; overlays; cifs.
var unflushed = []string{"nobarrier", "barrier=0", "barrier=none", "fsync_mode=nobarrier", "nointegrity", "volatile", "fsync=volatile", "nostrictsync"}

// Of looks at an open file or folder.
func (m *Mounts) Of(f *os.File) (*Place, error) { return m.of(f, 0) }

func (m *Mounts) of(f *os.File, depth int) (*Place, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	fd := int(f.Fd())
	var sys unix.Statfs_t
	if err := retried(func() error { return unix.Fstatfs(fd, &sys) }); err != nil {
		return nil, os.NewSyscallError("fstatfs", err)
	}
	p := &Place{info: info}
	st := info.Sys().(*syscall.Stat_t)
	p.ino, p.changed = st.Ino, time.Unix(st.Ctim.Unix()).Truncate(time.Microsecond)
	p.system = fmt.Sprintf("%d:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)))
	at := mountOf(f, p.system)
	if at != nil {
		p.kind, p.at, p.system = at.kind, at.at, at.dev
	}
	p.named = slices.Contains(m.named, p.system)
	magic := int64(sys.Type) & 0xffffffff
	isFUSE := magic == unix.FUSE_SUPER_MAGIC || p.kind == "virtiofs" || strings.HasPrefix(p.kind, "fuse")
	_, err = unix.Fgetxattr(fd, ShownAttribute, make([]byte, 64))
	p.shown = p.kind == cdfzKind || err == nil || err == unix.ERANGE
	switch {
	case depth > maxNested:
		p.weak, p.unknown = "it is nested too deeply", "the file systems are nested too deeply"
	case slices.Contains(memoryKinds, p.kind) || slices.Contains(memoryNumbers, magic):
		p.weak, p.memory = inMemory, true
		p.volumes = []string{"memory"}
	case isFUSE:
		p.weak, p.foreign = byProgram, true
		p.unknown = fmt.Sprintf("a program serves %s", orUnknown(p.at))
	case magic == magicVboxsf:
		p.weak, p.unknown = "its driver does not flush", "it is a folder of the host"
	case magic == unix.OVERLAYFS_SUPER_MAGIC || p.kind == "overlay":
		m.overlay(p, f, &sys, at, depth)
		p.deleted = st.Nlink == 0 && st.Mode&unix.S_IFMT == unix.S_IFREG
	case p.kind == "ecryptfs":
		m.layer(p, at.source, nil, false, depth)
	default:
		m.stored(p, at, depth)
	}
	if at != nil && p.weak == "" {
		for _, o := range at.options {
			if slices.Contains(unflushed, o) {
				p.weak = fmt.Sprintf(notFlushed, o)
			}
		}
	}
	return p, nil
}

// mountOf returns the mount by which a file was opened, or another one of its file system, or nil.
func mountOf(f *os.File, dev string) *mount {
	list, err := mounts()
	if err != nil {
		return nil
	}
	if id, err := mountID(f); err == nil {
		if i := slices.IndexFunc(list, func(m mount) bool { return m.id == id }); i >= 0 {
			return &list[i]
		}
	}
	if i := slices.IndexFunc(list, func(m mount) bool { return m.dev == dev }); i >= 0 {
		return &list[i]
	}
	return nil
}

// mountPoint reports whether an open folder is the one that its file system is mounted on.
func mountPoint(f *os.File, p *Place) (bool, error) {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	return path == p.at, err
}

// overlay looks at a file of an overlay. In a container, its layers are usually out of sight.
func (m *Mounts) overlay(p *Place, f *os.File, sys *unix.Statfs_t, at *mount, depth int) {
	if at == nil {
		p.weak, p.unknown = "the system does not tell how it is mounted", hiddenLayers
		return
	}
	p.partial = slices.Contains(at.options, "metacopy=on")
	onDevice := !p.info.IsDir() && mapped(f)
	var lower []string
	for _, v := range append(at.option("lowerdir"), append(at.option("lowerdir+"), at.option("datadir+")...)...) {
		lower = append(lower, splitLayers(v)...)
	}
	for _, dir := range lower {
		m.layer(p, dir, nil, onDevice, depth)
	}
	for _, dir := range at.option("upperdir") {
		m.layer(p, dir, sys, onDevice, depth)
	}
	if p.weak == "" && !p.info.IsDir() && !onDevice {
		p.weak = "its layers are in memory, or unknown"
	}
}

// splitLayers returns the folders of an option lowerdir. A colon in a name has a backslash.
func splitLayers(s string) []string {
	var list []string
	var b strings.Builder
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || s[i] == ':':
			if b.Len() > 0 {
				list = append(list, b.String())
			}
			b.Reset()
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return list
}

// mapped reports whether the file system of an open file, or of its layer of an overlay, knows places on a
// device. Those in memory do not.
func mapped(f *os.File) bool {
	r := struct {
		start, length                   uint64
		flags, mapped, extents, reserve uint32
	}{length: 1}
	return retried(func() error { return ioctl(f, fiemap, &r) }) == nil
}

// layer adds what a folder below a file system is stored on. sys, if not nil, is the statistics of an
// overlay, which are those of the upper layer: in another namespace the path may lead elsewhere. onDevice
// tells that the file is in none of the layers that are in memory or served by a program.
func (m *Mounts) layer(p *Place, dir string, sys *unix.Statfs_t, onDevice bool, depth int) {
	q, err := m.below(dir, sys, depth)
	if err != nil {
		p.unknown = hiddenLayers
		return
	}
	if onDevice && (q.foreign || slices.Contains(memoryKinds, q.kind)) {
		q.weak, q.foreign, q.shown = "", false, false
	}
	p.inherit(q)
}

// inherit adds what a file or folder that a file system is stored in is stored on.
func (p *Place) inherit(q *Place) {
	p.volumes = append(p.volumes, q.volumes...)
	p.foreign = p.foreign || q.foreign && !q.named
	p.shown = p.shown || q.shown
	if p.unknown == "" {
		p.unknown = q.unknown
	}
	if p.weak == "" && !q.named && q.weak != "" {
		p.weak, p.memory = fmt.Sprintf("it is stored in %s (%s), and %s", orUnknown(q.at), q.kind, q.weak), q.memory
	}
}

func orUnknown(at string) string {
	if at == "" {
		return "an unknown place"
	}
	return at
}

func (m *Mounts) below(path string, sys *unix.Statfs_t, depth int) (*Place, error) {
	if !filepath.IsAbs(path) {
		return nil, os.ErrNotExist // below the folder in which somebody mounted it
	}
	f, err := os.OpenFile(path, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		f, err = os.OpenFile(path, unix.O_PATH, 0) // without the right to read it
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if sys != nil {
		var own unix.Statfs_t
		if err := retried(func() error { return unix.Fstatfs(int(f.Fd()), &own) }); err != nil {
			return nil, err
		}
		if own.Blocks != sys.Blocks || own.Files != sys.Files || own.Bsize != sys.Bsize {
			return nil, os.ErrNotExist
		}
	}
	return m.of(f, depth+1)
}

// stored looks at what a file system is stored on that is no overlay. at may be nil.
func (m *Mounts) stored(p *Place, at *mount, depth int) {
	var major, minor uint32
	_, _ = fmt.Sscanf(p.system, "%d:%d", &major, &minor)
	if major != 0 {
		m.device(p, major, minor, depth)
		return
	}
	if at == nil {
		p.unknown = "the system does not tell how it is mounted"
		return
	}
	if host := at.server(); host != "" {
		p.volumes = []string{"the server " + host}
		if IsLocal(host) {
			p.unknown = fmt.Sprintf("this machine is the server of %s", p.at)
		}
		return
	}
	switch at.kind {
	case "lustre":
		_, name, _ := strings.Cut(at.source, ":/")
		name, _, _ = strings.Cut(name, "/")
		p.volumes = []string{"lustre " + name}
		return
	case "zfs":
		name, _, _ := strings.Cut(at.source, "/")
		p.volumes = []string{"the pool " + name}
		return
	case "gpfs":
		p.volumes = []string{"gpfs " + at.source}
		return
	case "ceph", "beegfs":
		p.volumes = []string{at.kind} // names of one cluster are many
		return
	}
	for source := range strings.SplitSeq(at.source, ":") { // file systems on several devices, as btrfs
		var st unix.Stat_t
		if !filepath.IsAbs(source) || unix.Stat(source, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK {
			p.unknown = fmt.Sprintf("%s has no device (%s)", orUnknown(p.at), p.kind)
			return
		}
		m.device(p, unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev)), depth)
	}
}

// server returns the address or the name of the server of a network file system, or "".
func (m *mount) server() string {
	var host string
	switch {
	case strings.HasPrefix(m.kind, "nfs"):
		i := strings.LastIndex(m.source, ":/")
		host = m.source[:max(0, i)]
	case m.kind == "cifs" || m.kind == "smb3":
		host, _, _ = strings.Cut(strings.TrimLeft(m.source, `/\`), "/")
	default:
		return ""
	}
	if addr := m.option("addr"); len(addr) > 0 { // one server has many names
		host = addr[0]
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

func retried(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
