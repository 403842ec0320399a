//go:build linux && (amd64 || arm64)

package hdf5plugin

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/internal/hostproto"
)

// start starts a process.
func start(o Options) (*process, error) {
	path, err := findHost(o.Host)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*process, error) {
		return nil, fmt.Errorf("plugin: %w: %s: %v", ErrHost, path, err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	err = unix.SetNonblock(pair[0], true) // so that the socket has deadlines
	ours := os.NewFile(uintptr(pair[0]), "socket")
	if err != nil {
		ours.Close()
		theirs.Close()
		return fail(err)
	}
	h := &process{socket: ours, conn: hostproto.NewConn(ours), loaded: map[string]loaded{}}
	if err := h.shared.open(); err != nil {
		ours.Close()
		theirs.Close()
		return fail(err)
	}
	h.cmd = exec.Command(path, "serve", strconv.FormatInt(o.Memory, 10))
	h.cmd.ExtraFiles = []*os.File{theirs, h.shared.file} // 3 and 4
	h.cmd.Stdout, h.cmd.Stderr = &h.output, &h.output
	h.cmd.WaitDelay = time.Second // if a plugin has started a process that holds the output
	h.cmd.Env = append(environment(os.Environ()), "GOTRACEBACK=none", "GOMAXPROCS=2")
	err = h.cmd.Start()
	theirs.Close() // so that the end of the process closes the connection
	if err != nil {
		ours.Close()
		h.shared.free()
		return fail(err)
	}
	if err := h.greet(); err != nil {
		return nil, err
	}
	return h, nil
}

// environment returns the variables that libraries may need. The others may hold secrets,
// such as keys of object stores.
func environment(all []string) []string {
	var out []string
	for _, v := range all {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "PATH", "LD_LIBRARY_PATH", "TMPDIR", "LANG", "TZ":
			out = append(out, v)
			continue
		}
		for _, prefix := range []string{"LC_", "HDF5_", "BLOSC_", "OMP_"} {
			if strings.HasPrefix(name, prefix) {
				out = append(out, v)
				break
			}
		}
	}
	return out
}
