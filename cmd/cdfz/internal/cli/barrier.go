package cli

import (
	"fmt"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/runlog"
)

// barriers are the reasons that the run has met why further targets cannot be written. It is safe for
// concurrent use.
type barriers struct {
	mu   sync.Mutex
	list []*barrier
}

type barrier struct {
	*fileio.Barrier
	first    string // the first file that failed
	err      error
	notTried int64
	rest     bool // the files that were not found yet were not tried either
}

// of returns the barrier that covers a file, or nil. The caller holds mu.
func (s *barriers) of(j fileio.File) *barrier {
	for _, b := range s.list {
		if b.Covers(j) {
			return b
		}
	}
	return nil
}

// bar notes an error of a file.
func (r *Run) bar(j fileio.File, err error) {
	if err == nil || terminal.Interrupted(err) {
		return
	}
	b := r.Targets.Barrier(j, err)
	if b == nil {
		return
	}
	s := &r.barriers
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of(j) != nil {
		return // it was at work already
	}
	s.list = append(s.list, &barrier{Barrier: b, first: terminal.ShowName(j.Name), err: err})
}

// barred reports whether a file must not be tried. grows is set if more files are being found: end reports whether none of
// them can be written either.
func (r *Run) barred(j fileio.File, grows bool) (barred, end bool) {
	s := &r.barriers
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.of(j)
	if b == nil {
		return false, false
	}
	end = grows && b.All()
	b.notTried++
	b.rest = b.rest || end
	return true, end
}

// Barred reports whether the target of a file cannot be written for a reason that the run has met, so that the file was or
// would be left out.
func (r *Run) Barred(j fileio.File) bool {
	s := &r.barriers
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of(j) != nil
}

// reportBarriers reports how many files were not tried, and why.
func (r *Run) reportBarriers() {
	s := &r.barriers
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.list {
		if b.notTried == 0 {
			continue
		}
		n := display.Count(b.notTried, "file")
		if b.notTried == 1 {
			n += " was not tried"
		} else {
			n += " were not tried"
		}
		if b.rest {
			n = "the files after it were not tried"
		}
		err := fmt.Errorf("no target can be written here; the first was that of %s: %s; %s", b.first, terminal.PlainText(b.err, b.first), n)
		if terminal.IsLasting(b.err) { // the exit code is that of the first error
			err = terminal.Lasting(err)
		}
		b.notTried, b.rest = 0, false
		r.logEntry(&runlog.Entry{Start: time.Now(), Source: b.Place}, err)
		r.Term.FailFile(b.Place, terminal.Hinted(err, "the same command does them once the cause is gone"))
	}
}
