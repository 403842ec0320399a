// Package warnings reports each problem of a file once, however many readers meet it.
// Packages mount and serve use it.
package warnings

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cdfz-format/cdfz/archive"
)

// Once passes each problem on once. It is safe for concurrent use.
type Once struct {
	// Warn is called for each new problem of a file. Nil: nothing is passed on.
	Warn func(name string, err error)
	mu   sync.Mutex
	seen map[string]bool
}

// maxWarnings bounds the problems that are remembered. After that many, all may be
// passed on again.
const maxWarnings = 1 << 14

// Add passes a problem of a file on, unless it is known. A damaged block is one problem,
// whatever error it causes.
func (w *Once) Add(name string, err error) {
	if w.Warn == nil {
		return
	}
	key := name + "\x00" + err.Error()
	var block *archive.BlockError
	if errors.As(err, &block) { // the same block in several reads
		key = fmt.Sprintf("%s\x00%d", name, block.Block)
	}
	w.mu.Lock()
	known := w.seen[key]
	if !known {
		if len(w.seen) >= maxWarnings || w.seen == nil {
			w.seen = map[string]bool{}
		}
		w.seen[key] = true
	}
	w.mu.Unlock()
	if !known {
		w.Warn(name, err)
	}
}
