// Package stats collects HDF5's filter statistics: how many bytes each filter
// processed in each direction, and how long it took.
//
//	s := stats.New()
//	ctx = observer.With[filters.Observer](ctx, s.Observe)
//	… read and write archives …
//	s.WriteTable(os.Stderr, false)
//
// The table is that of "Filters in HDF5", section 6:
// https://support.hdfgroup.org/HDF5/doc/H5.user/Filters.html
package stats

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/filters"
)

// Row is the work of a filter in one direction. Times are zero where the system cannot
// measure them.
type Row struct {
	Method string `json:"method"`
	ID     uint32 `json:"id"`
	Decode bool   `json:"decode"`        // "<": from the file; else ">": to the file
	Var    string `json:"var,omitempty"` // if statistics are per variable

	Calls  int64 `json:"calls"`
	Total  int64 `json:"total"`  // bytes: for each call, the longer of input and output
	Errors int64 `json:"errors"` // bytes of Total in calls that failed, or did not shorten the block of an optional filter
	In     int64 `json:"in"`     // bytes of input
	Out    int64 `json:"out"`    // bytes of output of calls that did not fail

	User    time.Duration `json:"user_ns"` // processor time
	System  time.Duration `json:"system_ns"`
	Elapsed time.Duration `json:"elapsed_ns"`
}

// Bandwidth returns Total per second of elapsed time, or 0 if no time has elapsed.
func (r *Row) Bandwidth() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Total) / r.Elapsed.Seconds()
}

// Collector collects statistics. Its methods are safe for concurrent use.
type Collector struct {
	mu   sync.Mutex
	rows map[key]*Row
}

type key struct {
	id     uint32
	label  string
	decode bool
}

// New returns a collector without rows.
func New() *Collector { return &Collector{rows: map[key]*Row{}} }

// Observe is a filters.Observer. It measures a call of a filter. The goroutine stays on its thread during the call
// so that the thread's processor time is that of the call.
func (c *Collector) Observe(f filters.Filter, label string, decode bool) func(in, out int, err error) {
	lockThread()
	user, system := threadTimes()
	start := time.Now()
	return func(in, out int, err error) {
		elapsed := time.Since(start)
		user2, system2 := threadTimes()
		unlockThread()
		c.mu.Lock()
		defer c.mu.Unlock()
		k := key{f.ID, label, decode}
		r := c.rows[k]
		if r == nil {
			r = &Row{Method: methodName(f), ID: f.ID, Decode: decode, Var: label}
			c.rows[k] = r
		}
		total := int64(max(in, out))
		r.Calls++
		r.Total += total
		r.In += int64(in)
		if err != nil {
			r.Errors += total
		} else {
			r.Out += int64(out)
		}
		r.Elapsed += elapsed
		r.User += user2 - user
		r.System += system2 - system
	}
}

func methodName(f filters.Filter) string {
	if name := cmp.Or(f.Name, filters.Name(f.ID)); name != "" {
		return name
	}
	return f.String()
}

// Rows returns the statistics of each filter, two rows for each: of writing and of
// reading. If vars is set, there are rows for each variable, but none without calls.
func (c *Collector) Rows(vars bool) []Row {
	c.mu.Lock()
	defer c.mu.Unlock()
	sums := map[key]*Row{}
	for k, r := range c.rows {
		if !vars {
			k.label = ""
		}
		s := sums[k]
		if s == nil {
			s = &Row{Method: r.Method, ID: r.ID, Decode: r.Decode, Var: k.label}
			sums[k] = s
		}
		s.Calls += r.Calls
		s.Total += r.Total
		s.Errors += r.Errors
		s.In += r.In
		s.Out += r.Out
		s.User += r.User
		s.System += r.System
		s.Elapsed += r.Elapsed
	}
	// Two lines for each filter, whether both were used or not.
	for k, r := range sums {
		if vars {
			break
		}
		other := k
		other.decode = !k.decode
		if sums[other] == nil {
			sums[other] = &Row{Method: r.Method, ID: r.ID, Decode: other.decode, Var: k.label}
		}
	}
	out := make([]Row, 0, len(sums))
	for _, r := range sums {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Var, b.Var), cmp.Compare(a.ID, b.ID), cmp.Compare(direction(b), direction(a)))
	})
	return out
}

func direction(r Row) string {
	if r.Decode {
		return "<"
	}
	return ">"
}
