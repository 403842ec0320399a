package fleet

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/cdfz-format/cdfz/internal/runlog"
)

// Progress is what the logs in Job.Dir tell of the work so far. It counts all pipelines over the same
// files, and a file that fails once for each attempt.
type Progress struct {
	Shards    int64 // with a run of cdfz that has ended
	Files     int64 // done
	Unchanged int64 // done before
	Failed    int64
	Bytes     int64 // of the files that are done
}

// Watch calls report now and then until ctx is done, at least every time that something was done in the
// pause before. Workers need not know of it: it reads what they add to the logs. Errors are left out,
// since the pipeline has them, too.
func (j *Job) Watch(ctx context.Context, pause time.Duration, report func(Progress)) {
	w := watcher{pattern: filepath.Join(escape(j.Dir), "*."+j.Verb+".jsonl"), read: map[string]int64{}, ended: map[string]bool{}}
	for _, name := range w.logs() {
		if st, err := os.Stat(name); err == nil {
			w.read[name] = st.Size()
		}
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		before := w.sum
		for _, name := range w.logs() {
			w.look(name)
		}
		if w.sum != before {
			report(w.sum)
		}
	}
}

// watcher reads logs as they grow.
type watcher struct {
	pattern string
	read    map[string]int64 // bytes of each log that were read
	ended   map[string]bool  // logs with a run that has ended
	sum     Progress
}

func (w *watcher) logs() []string {
	names, _ := filepath.Glob(w.pattern) // the pattern is well-formed
	return names
}

// look reads the whole lines that were added to a log.
func (w *watcher) look(name string) {
	f, err := os.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return
	}
	from := min(w.read[name], st.Size()) // a line that was cut off is removed
	b, err := io.ReadAll(io.NewSectionReader(f, from, st.Size()-from))
	if err != nil {
		return
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	w.read[name] = from + int64(len(b))
	for line := range bytes.Lines(b) {
		l, ok := runlog.ParseLine(line)
		if !ok {
			continue
		}
		switch {
		case l.Summary != nil && !w.ended[name]:
			w.ended[name] = true
			w.sum.Shards++
		case l.Outcome == runlog.OK:
			w.sum.Files++
			w.sum.Bytes += l.Size
		case l.Outcome == runlog.Unchanged:
			w.sum.Unchanged++
		case l.Outcome != "" && l.Outcome != runlog.Other:
			w.sum.Failed++
		}
	}
}
