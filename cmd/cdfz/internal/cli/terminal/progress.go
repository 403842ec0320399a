package terminal

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
)

const (
	barDelay  = 300 * time.Millisecond // shorter runs need no bar
	rateDelay = time.Second            // earlier speeds are guesses
	barName   = 32                     // most columns for the name
	barRest   = 12                     // fewest columns for percent and bar

	lineEvery   = time.Minute // between the lines of progress where there is no terminal
	lineColumns = 200
)

// Progress shows the progress of a run on standard error: files, bytes, speed and time left.
// A terminal has a bar, a file or pipe a line a minute. A nil Progress shows nothing. Bytes are
// those of the files on the command line, whatever units the verb counts.
type Progress struct {
	mu      sync.Mutex
	bar     *progressbar.ProgressBar // nil until shown
	make    func() *progressbar.ProgressBar
	line    func(text string) // prints a line; nil with a bar
	printed time.Time         // the last line, or the start
	verb    string
	start   time.Time
	columns int // of the terminal

	sizes  map[int]int64 // of the files that have not ended, by number
	files  int
	grows  bool          // more files will be added
	total  int64         // sum of sizes, without files passed over
	before int64         // sum of the finished files
	ended  int           // number of the finished files
	done   map[int]int64 // bytes of the files at work, by number
	name   string        // of the file that moved last
}

// ShowsProgress reports whether there is a terminal to show a bar on.
func (p *Printer) ShowsProgress() bool { return !p.Quiet && IsTerminal(p.Err) }

// StartProgress begins the progress of a run over files with these sizes in bytes, 0 if unknown.
func (t *Terminal) StartProgress(verb string, sizes ...int64) {
	if t.Quiet {
		return
	}
	now := time.Now()
	p := &Progress{verb: verb, start: now, printed: now, columns: columns(t.Err), done: map[int]int64{}, sizes: map[int]int64{}}
	for i, size := range sizes {
		p.add(i, size)
	}
	if !t.ShowsProgress() {
		p.columns = lineColumns
		p.line = func(text string) { fmt.Fprintf(t.Err, "cdfz: %s  %s\n", timestamp(), text) }
	}
	p.make = func() *progressbar.ProgressBar {
		return progressbar.NewOptions64(max(p.total, 1),
			progressbar.OptionSetWriter(t.Err),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionFullWidth(),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false),
		)
	}
	t.progress = p
}

// AddFile adds a file to the progress of a run whose files were not all known when it began.
func (t *Terminal) AddFile(i int, size int64) {
	if p := t.progress; p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.grows = true
		p.add(i, size)
	}
}

func (p *Progress) add(i int, size int64) {
	p.sizes[i] = size
	p.files++
	p.total += size
}

// Step returns a callback for one pass over the file of a job, or nil if no progress is
// shown. The callback takes the units done so far, out of size. Passes are numbered
// from 0.
func (r *Printer) Step(name string, size int64, pass, passes int) func(done int64) {
	p := r.progress
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := r.file
	if p.sizes[i] == 0 { // a URL, or a pipe
		p.sizes[i] = size
		p.total += size
	}
	name = display.Printable(name)
	return func(done int64) {
		part := float64(pass) / float64(passes)
		if size > 0 {
			part += float64(min(done, size)) / float64(size) / float64(passes)
		}
		p.set(i, name, part)
	}
}

// shorten cuts the front of a name to fit into some columns.
func shorten(name string, columns int) string {
	r := []rune(name)
	if len(r) <= columns {
		return name
	}
	return "…" + string(r[len(r)-columns+1:])
}

// set shows a fraction of a file as done.
func (p *Progress) set(i int, name string, part float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name = name
	p.done[i] = int64(part * float64(p.sizes[i]))
	elapsed := time.Since(p.start)
	if p.line != nil {
		if time.Since(p.printed) >= lineEvery {
			p.printed = time.Now()
			p.line(p.text(elapsed))
		}
		return
	}
	if elapsed < barDelay {
		return
	}
	if p.bar == nil {
		p.bar = p.make()
	}
	// Errors concern only the terminal, so nothing is lost.
	p.bar.Describe(p.text(elapsed))
	p.bar.ChangeMax64(max(p.total, 1))
	_ = p.bar.Set64(min(p.sum(), p.total))
}

// sum returns the bytes done.
func (p *Progress) sum() int64 {
	n := p.before
	for _, done := range p.done {
		n += done
	}
	return n
}

// text returns the text before the bar.
func (p *Progress) text(elapsed time.Duration) string {
	done := p.sum()
	words := []string{p.verb}
	n := min(p.ended+1, p.files)
	switch {
	case p.grows:
		words = append(words, fmt.Sprintf("file %d", n), display.Size(done))
	case p.files > 1:
		words = append(words, fmt.Sprintf("%d of %d", n, p.files))
		fallthrough
	default:
		words = append(words, fmt.Sprintf("%s of %s", display.Size(done), display.Size(p.total)))
	}
	if elapsed >= rateDelay && done > 0 {
		words = append(words, display.Speed(done, elapsed.Seconds()))
		if !p.grows {
			left := time.Duration(float64(elapsed) / float64(done) * float64(max(p.total-done, 0)))
			words = append(words, display.Clock(left)+" left")
		}
	}
	text := strings.Join(words, "  ")
	if columns := min(p.columns-len(text)-2-barRest, barName); columns >= 2 {
		text += "  " + shorten(p.name, columns)
	}
	return text
}

// EndFile counts a file as finished.
func (t *Terminal) EndFile(i int) { t.progress.end(i) }

func (p *Progress) end(i int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended++
	p.before += p.sizes[i]
	delete(p.sizes, i)
	delete(p.done, i)
}

// PassOver removes a file with nothing to do from the totals, since it would make the
// rest look fast.
func (r *Printer) PassOver() {
	p := r.progress
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total -= p.sizes[r.file]
	p.sizes[r.file] = 0
	delete(p.done, r.file)
}

// clear removes the bar so that a line can be printed. The next step shows it again.
func (p *Progress) clear() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// stop removes the bar for good.
func (p *Progress) stop() {
	if p == nil {
		return
	}
	p.clear()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar = nil
	p.start = time.Now()
	p.printed = p.start
}

// StopProgress removes the bar for good.
func (t *Terminal) StopProgress() { t.progress.stop() }
