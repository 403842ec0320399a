package hdf5plugin

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/internal/hostproto"
)

// pool starts processes when they are needed and keeps idle ones.
type pool struct {
	opts  Options
	slots chan struct{} // one for each process in use

	mu     sync.Mutex
	idle   []*process
	closed bool
}

func newPool(o Options) *pool {
	return &pool{opts: o, slots: make(chan struct{}, o.Processes)}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, h := range p.idle {
		h.kill()
	}
	p.idle = nil
}

// take returns a process, waiting for one if all are in use.
func (p *pool) take() (*process, error) {
	p.slots <- struct{}{}
	h, err := p.idleOrNew()
	if err != nil {
		<-p.slots
	}
	return h, err
}

func (p *pool) idleOrNew() (*process, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, fmt.Errorf("plugin: %w: the set is closed", ErrHost)
	}
	if n := len(p.idle); n > 0 {
		h := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return h, nil
	}
	p.mu.Unlock()
	return start(p.opts)
}

// put returns a process to the pool, or ends it if it is worn.
func (p *pool) put(h *process, worn bool) {
	p.mu.Lock()
	if worn || p.closed {
		h.kill()
	} else {
		p.idle = append(p.idle, h)
	}
	p.mu.Unlock()
	<-p.slots
}

// request is a call of a library.
type request struct {
	hostproto.Request
	path string
	in   []byte // block to be put into the shared memory
}

// do makes a call. out gets the result of the library in the shared memory, which is valid
// until it returns. Errors wrap [filters.ErrUnavailable] if the library could not do its
// work, and [ErrHost] if there is no process.
func (p *pool) do(r *request, out func(*hostproto.Reply, []byte) error) error {
	h, err := p.take()
	if err != nil {
		return err
	}
	reply, block, err := h.do(r, p.timeout(len(r.in)))
	if err != nil {
		err = h.explain(r.path, err)
		p.put(h, true)
		return err
	}
	err = out(reply, block)
	p.put(h, reply.Worn)
	return err
}

// timeout returns the time for a call with a block of n bytes.
func (p *pool) timeout(n int) time.Duration {
	return p.opts.Timeout + time.Duration(n>>20)*time.Second
}

// loadTime is the time limit for examining a library.
const loadTime = 5 * time.Second

// examine loads a library to find out its kind. A process that has loaded others before
// may crash because of them. The library is then tried again in a new process.
func (p *pool) examine(path string) (Library, error) {
	for {
		h, err := p.take()
		if err != nil {
			return Library{}, err
		}
		alone := len(h.loaded) == 0
		found, err := h.load(path, min(p.opts.Timeout, loadTime))
		if err == nil {
			p.put(h, false)
			return newLibrary(path, found), nil
		}
		var late *timeoutError
		alone = alone || errors.As(err, &late) // trying again would take as long
		err = h.explain("", err)
		p.put(h, true)
		var failed *unavailableError
		if !errors.As(err, &failed) {
			return Library{}, err
		}
		if alone {
			return Library{Path: path, Ignored: failed.why}, nil
		}
	}
}
