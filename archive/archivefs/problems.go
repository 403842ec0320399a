package archivefs

import "sync"

// Problems passes on each problem of a file once, however many readers meet it. It is safe
// for concurrent use.
type Problems struct {
	// Warn is called for each new problem of a file. Nil: nothing is passed on.
	Warn  func(name string, err error)
	cause func(error) string // as in format

	mu   sync.Mutex
	seen map[[2]string]bool // by file and cause
}

// maxProblems is the number of problems that are remembered. After that many, all may be
// passed on again.
const maxProblems = 1 << 14

// Report passes a problem of a file on, unless it is known.
func (p *Problems) Report(name string, err error) {
	if p.Warn == nil {
		return
	}
	key := [2]string{name, p.cause(err)}
	p.mu.Lock()
	known := p.seen[key]
	if len(p.seen) >= maxProblems || p.seen == nil {
		p.seen = map[[2]string]bool{}
	}
	p.seen[key] = true
	p.mu.Unlock()
	if !known {
		p.Warn(name, err)
	}
}
