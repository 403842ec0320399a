package main

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

const (
	barDelay = 300 * time.Millisecond // small files finish without a bar
	barName  = 32                     // columns of the bar for the name
)

// progress shows how far a piece of work is, on a terminal's standard error.
type progress struct {
	a     *app
	what  string
	total int64
	start time.Time
	bar   *progressbar.ProgressBar // nil until it is shown
}

// progress starts a piece of work of total bytes on a file.
func (a *app) progress(verb, file string, total int64) *progress {
	name := []rune(printable(file))
	if len(name) > barName {
		name = append([]rune("…"), name[len(name)-barName+1:]...)
	}
	return &progress{a: a, what: verb + " " + string(name), total: total, start: time.Now()}
}

// report is the callback for packages that do the work; nil where nothing is shown.
func (p *progress) report() func(done int64) {
	if p.a.quiet || !isTerminal(p.a.err) {
		return nil
	}
	// Made now, so that it knows when the work began.
	bar := progressbar.NewOptions64(p.total,
		progressbar.OptionSetWriter(p.a.err),
		progressbar.OptionSetDescription(p.what),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionFullWidth(),
		progressbar.OptionSetRenderBlankState(false),
	)
	return func(done int64) {
		if p.bar == nil {
			if time.Since(p.start) < barDelay {
				return
			}
			p.bar = bar
		}
		// Errors are those of the terminal: nothing is lost.
		_ = p.bar.Set64(min(done, p.total))
	}
}

// end takes the bar away.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}
