//go:build plugins && linux && (amd64 || arm64)

// Command cdfz-plugin-host loads HDF5 plugins for cdfz, which starts it and talks to it
// (package hostproto). A plugin that crashes, hangs or takes all memory ends this process
// and nothing else. It ends with cdfz, and starts no processes.
//
// HDF5's plugins are shared libraries of C. This program calls them without cgo.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/cdfz-format/cdfz/internal/hostproto"
)

// Files that cdfz hands to this process.
const (
	socketFD = 3
	memoryFD = 4
)

func init() {
	runtime.LockOSThread() // plugins run on the main thread, whose stack is the largest
}

func main() {
	if len(os.Args) != 3 || os.Args[1] != "serve" {
		fmt.Fprintln(os.Stderr, "cdfz-plugin-host is started by cdfz to load HDF5 plugins: see cdfz plugins --help")
		os.Exit(2)
	}
	h, err := newHost(os.Args[2])
	if err == nil {
		err = h.serve(hostproto.NewConn(os.NewFile(socketFD, "socket")))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// host is the state of the process.
type host struct {
	limits    *limits
	shared    shared
	libraries []*library
}

func newHost(memory string) (*host, error) {
	if err := loadLibc(); err != nil {
		return nil, err
	}
	l, err := newLimits(memory)
	if err != nil {
		return nil, err
	}
	if err := refuseChildren(); err != nil {
		return nil, err
	}
	return &host{limits: l, shared: shared{fd: memoryFD}}, nil
}

// serve answers requests until cdfz ends. Requests are read by a goroutine, so that the
// end is noticed while a plugin runs.
func (h *host) serve(c *hostproto.Conn) error {
	if err := c.Send(&hostproto.Reply{Len: hostproto.Version}); err != nil {
		return err
	}
	requests := make(chan *hostproto.Request)
	go func() {
		for {
			r, err := c.ReceiveRequest()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					fmt.Fprintln(os.Stderr, err)
				}
				os.Exit(0)
			}
			requests <- r
		}
	}()
	for r := range requests {
		reply := h.answer(r)
		reply.Worn = h.limits.worn()
		if err := c.Send(reply); err != nil {
			return err
		}
	}
	return nil
}

func (h *host) answer(r *hostproto.Request) *hostproto.Reply {
	if err := h.limits.raise(r.Len, r.MaxLen); err != nil {
		return refuse("%v", err)
	}
	if r.Op == hostproto.Load {
		l, found := load(r.Text)
		h.libraries = append(h.libraries, l)
		return &hostproto.Reply{Library: found}
	}
	if uint64(r.Lib) >= uint64(len(h.libraries)) {
		return refuse("library %d of %d", r.Lib, len(h.libraries))
	}
	l := h.libraries[r.Lib]
	switch r.Op {
	case hostproto.Filter:
		return h.filter(l, r)
	case hostproto.SetLocal:
		return l.setParams(r)
	case hostproto.ToHDF5:
		return l.toHDF5(r)
	default:
		return l.fromHDF5(r)
	}
}

// refuse answers a request that cdfz should not have made.
func refuse(format string, args ...any) *hostproto.Reply {
	return &hostproto.Reply{Status: hostproto.Invalid, Text: fmt.Sprintf(format, args...)}
}

// failed reports that a function of the library failed.
func failed(format string, args ...any) *hostproto.Reply {
	return &hostproto.Reply{Status: hostproto.Failed, Text: fmt.Sprintf(format, args...)}
}
