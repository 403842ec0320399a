package hdf5plugin

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/internal/hostproto"
)

// hostName is the program that loads libraries.
const hostName = "cdfz-plugin-host"

// process is a running cdfz-plugin-host, for one goroutine at a time.
type process struct {
	cmd     *exec.Cmd
	socket  *os.File
	conn    *hostproto.Conn
	shared  shared
	output  tail
	loaded  map[string]loaded // by path
	reaping sync.Once
	status  string // how it ended
}

// loaded is a library of a process.
type loaded struct {
	number uint32
	found  hostproto.Library
}

// findHost returns the path of the program.
func findHost(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		beside := filepath.Join(filepath.Dir(self), hostName)
		if st, err := os.Stat(beside); err == nil && st.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := exec.LookPath(hostName)
	if err != nil {
		return "", fmt.Errorf("plugin: %w: %s is neither beside the program nor on PATH", ErrHost, hostName)
	}
	return path, nil
}

// helloTime is the time limit for starting a process.
const helloTime = 30 * time.Second

// greet waits for the first message of the process.
func (h *process) greet() error {
	if err := h.socket.SetDeadline(time.Now().Add(helloTime)); err != nil {
		return err
	}
	reply, err := h.conn.ReceiveReply()
	if err != nil {
		h.kill()
		return fmt.Errorf("plugin: %w: %s: %v%s", ErrHost, h.cmd.Path, err, h.output.lines())
	}
	if reply.Len != hostproto.Version {
		h.kill()
		return fmt.Errorf("plugin: %w: %s: expected version %d, found %d", ErrHost, h.cmd.Path, hostproto.Version, reply.Len)
	}
	return nil
}

// do loads the library of a request if necessary, makes the request, and returns the reply
// and the block in it. After an error the process must be killed.
func (h *process) do(r *request, limit time.Duration) (*hostproto.Reply, []byte, error) {
	if _, err := h.load(r.path, limit); err != nil {
		return nil, nil, err
	}
	r.Lib, r.Len = h.loaded[r.path].number, uint64(len(r.in))
	if n := max(r.Len, r.MaxLen); n > 0 {
		if err := h.shared.grow(n); err != nil {
			return nil, nil, err
		}
	}
	copy(h.shared.mem, r.in)
	reply, err := h.call(&r.Request, limit)
	if err != nil {
		return nil, nil, err
	}
	if reply.Status != hostproto.OK || r.Op != hostproto.Filter {
		return reply, nil, nil
	}
	if reply.Len > r.MaxLen {
		return nil, nil, fmt.Errorf("%w: expected at most %d bytes, found %d", hostproto.ErrMessage, r.MaxLen, reply.Len)
	}
	return reply, h.shared.mem[:reply.Len], nil
}

// load loads a library into the process unless it is there.
func (h *process) load(path string, limit time.Duration) (hostproto.Library, error) {
	if l, ok := h.loaded[path]; ok {
		return l.found, nil
	}
	reply, err := h.call(&hostproto.Request{Op: hostproto.Load, Text: path}, limit)
	if err != nil {
		return hostproto.Library{}, err
	}
	if reply.Status != hostproto.OK {
		return hostproto.Library{}, fmt.Errorf("%w: status %d of a library: %s", hostproto.ErrMessage, reply.Status, reply.Text)
	}
	h.loaded[path] = loaded{uint32(len(h.loaded)), reply.Library}
	return reply.Library, nil
}

func (h *process) call(r *hostproto.Request, limit time.Duration) (*hostproto.Reply, error) {
	if err := h.socket.SetDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	if err := h.conn.Send(r); err != nil {
		return nil, err
	}
	reply, err := h.conn.ReceiveReply()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, &timeoutError{limit}
	}
	return reply, err
}

type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string { return fmt.Sprintf("took more than %v", e.limit) }

// explain ends a process after an error and returns the reason.
func (h *process) explain(path string, err error) error {
	why := ""
	var late *timeoutError
	switch {
	case errors.As(err, &late):
		h.kill()
		why = late.Error()
	case errors.Is(err, hostproto.ErrMessage):
		h.kill()
		why = err.Error()
	default: // the connection broke
		h.reap()
		why = "crashed: " + h.status + h.output.lines()
	}
	return &unavailableError{path, why}
}

// kill ends the process.
func (h *process) kill() {
	_ = h.cmd.Process.Kill()
	h.reap()
}

// reap waits for the end of the process and frees its resources.
func (h *process) reap() {
	h.reaping.Do(func() {
		// A process whose connection broke may still run.
		timer := time.AfterFunc(time.Second, func() { _ = h.cmd.Process.Kill() })
		_ = h.cmd.Wait()
		timer.Stop()
		h.status = h.cmd.ProcessState.String()
		h.socket.Close()
		h.shared.free()
	})
}

// tail keeps the first bytes that a process prints. Plugins print errors.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// maxOutput is the number of bytes of the output that are kept.
const maxOutput = 2 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[:min(len(p), maxOutput-len(t.buf))]...)
	return len(p), nil
}

// lines returns the output as one line for the end of a message.
func (t *tail) lines() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(t.buf), "?")), " ")
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}
