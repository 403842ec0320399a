//go:build linux && !386 && !arm

package fusefs

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/archivefs"
)

const (
	// fresh is how long the kernel relies on a name and its attributes. So long, a
	// replaced archive may appear with its earlier attributes; opening it always finds
	// the present one.
	fresh = time.Second
	// maxRequest is the length of the longest read of the kernel, in bytes: 256 pages, the
	// most that it allows by default. With 128 KiB, a file read in order takes a tenth more
	// processor time.
	maxRequest = 1 << 20
	// background is the number of requests that the kernel's read-ahead may have in
	// flight for all files.
	background = 16
)

// Server is a mounted folder.
type Server struct {
	fuse *fuse.Server
	tree *tree
	at   string // mount point
	root bool   // mounted without fusermount3
	done chan struct{}
}

// Mount mounts a folder, or a single archive, on the folder at. They may be the same
// folder, which is then hidden, but at may not lie inside it.
//
// Root mounts without help. Other users need the program fusermount3. Errors are
// *fs.PathError with the name of the source or of the mount point.
func Mount(src, at string, opts *Options) (*Server, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Cache == 0 {
		o.Cache = DefaultCache
	}
	t, err := newTree(src, &o)
	if err != nil {
		return nil, err
	}
	s := &Server{tree: t, root: os.Geteuid() == 0, done: make(chan struct{})}
	if s.at, err = target(src, at); err == nil {
		if s.fuse, err = fs.Mount(s.at, t.top(), t.options(src, &o, s.root)); err != nil {
			err = pathError(at, explain(err, "/dev/fuse"))
		}
	}
	if err != nil {
		t.source.root.Close()
		return nil, err
	}
	if s.root {
		setReadAhead(s.at)
	}
	go func() {
		s.fuse.Wait()
		close(s.done)
	}()
	if o.Idle > 0 {
		go s.watch(o.Idle)
	}
	return s, nil
}

// explain returns the reason of an error of mounting. The system's does not name the device.
func explain(err error, device string) error {
	if _, missing := os.Stat(device); errors.Is(missing, os.ErrNotExist) {
		return ErrNoFUSE
	}
	return err
}

// setReadAhead lets the kernel read further ahead in a mounted folder. Only root may,
// and not in containers whose /sys is read-only: then reading in sequence is slower.
func setReadAhead(at string) {
	var st syscall.Stat_t
	if syscall.Stat(at, &st) != nil {
		return
	}
	name := fmt.Sprintf("/sys/class/bdi/%d:%d/read_ahead_kb", unix.Major(st.Dev), unix.Minor(st.Dev))
	_ = os.WriteFile(name, strconv.AppendInt(nil, readAhead, 10), 0o644)
}

// newTree opens the source.
func newTree(src string, o *Options) (*tree, error) {
	blocks, err := archive.NewCache(o.Cache)
	if err != nil {
		return nil, err
	}
	s, err := openSource(src, blocks, o)
	if err != nil {
		return nil, err
	}
	t := &tree{source: s, streams: &streams{blocks: blocks, cache: o.Cache}, lists: o.AllowOther}
	t.active.touch()
	here, err := sys(s.root.Lstat("."))
	if err != nil {
		s.root.Close()
		return nil, pathError(src, err)
	}
	t.device = uint64(here.Dev)
	if isVolumeName(s.only) {
		info, err := s.onlyVolume()
		if err != nil {
			s.root.Close()
			return nil, pathError(src, err)
		}
		id, _ := archivefs.VolumeOf(info)
		t.only = t.openVolume(s.only, id, info.Sys().(*syscall.Stat_t))
		t.only.only = s.only
	}
	return t, nil
}

// top returns the node of the source.
func (t *tree) top() fs.InodeEmbedder {
	if t.only != nil {
		return &volumeFolder{t: t, in: t.only, attr: t.only.attr}
	}
	return t.node(true)
}

// options are those of the mount. Root passes flags to the kernel, other users words to
// fusermount3.
func (t *tree) options(src string, o *Options, root bool) *fs.Options {
	timeout := fresh
	name := src
	if abs, err := filepath.Abs(src); err == nil {
		name = abs
	}
	out := &fs.Options{EntryTimeout: &timeout, AttrTimeout: &timeout, NullPermissions: true}
	out.MountOptions = fuse.MountOptions{
		AllowOther: o.AllowOther, FsName: name, Name: "cdfz", MaxBackground: background, MaxWrite: maxRequest,
		EnableAcl:         o.AllowOther, // nobody else needs the lists
		DirectMountStrict: root, DirectMountFlags: syscall.MS_RDONLY | syscall.MS_NOSUID | syscall.MS_NODEV,
		Options: []string{"default_permissions"},
		Logger:  log.New(io.Discard, "", 0), // it only reports requests that were given up
		PanicHandler: func(reason any) fuse.Status {
			t.source.Report(".", fmt.Errorf("internal error: %v\n%s", reason, debug.Stack()))
			return fuse.EIO
		},
	}
	if !root {
		out.Options = append(out.Options, "ro")
	}
	return out
}

// target checks a mount point and returns its path without links.
func target(src, at string) (string, error) {
	f, err := os.OpenFile(at, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	switch {
	case errors.Is(err, syscall.ENOTCONN):
		return "", pathError(at, ErrStale)
	case errors.Is(err, syscall.ENOTDIR):
		return "", pathError(at, ErrTarget)
	case err != nil:
		return "", err
	}
	f.Close()
	to, err := real(at)
	if err != nil {
		return "", err
	}
	from, err := real(src)
	if err != nil {
		return "", err
	}
	if rest, ok := strings.CutPrefix(to, strings.TrimSuffix(from, "/")+"/"); ok && rest != "" {
		return "", pathError(at, ErrInside)
	}
	return to, nil
}

func pathError(name string, err error) error { return &os.PathError{Op: "mount", Path: name, Err: err} }

// real returns the absolute path of a file without links.
func real(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(name)
}

// Wait returns when the folder is no longer mounted, whoever unmounted it.
func (s *Server) Wait() { <-s.done }

// Done is closed when the folder is no longer mounted.
func (s *Server) Done() <-chan struct{} { return s.done }

// Close unmounts the folder. If files are open, it disappears from the tree, but the
// programs that use it can go on until this program ends. Then busy is true.
func (s *Server) Close() (busy bool, err error) {
	select {
	case <-s.done:
		return false, nil
	default:
	}
	if err := s.fuse.Unmount(); err == nil {
		<-s.done
		return false, nil
	}
	if s.root {
		return true, syscall.Unmount(s.at, syscall.MNT_DETACH)
	}
	out, err := exec.Command("fusermount3", "-u", "-z", s.at).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("fusermount3: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return true, err
}

// watch unmounts the folder when it was idle for long. A folder that is the working
// directory of a program stays mounted.
func (s *Server) watch(idle time.Duration) {
	for {
		left := idle - s.tree.active.idle()
		if left <= 0 {
			if s.fuse.Unmount() == nil {
				return
			}
			s.tree.active.touch()
			left = idle
		}
		select {
		case <-s.done:
			return
		case <-time.After(left):
		}
	}
}
