// Package runlog writes and reads the log of a run over many files: lines of JSON that are added to a file, for
// programs (docs/trees.md).
//
//	{"cdfz_log":1,"run":{"start":"…","verb":"archive","shard":"3/40","version":"0.1.0","pid":4711}}
//	{"start":"…","end":"…","source":"data/a.nc","target":"a.nc.cdfz","size":…,…,"outcome":"ok"}
//	{"summary":{"end":"…","files":1,"ok":1,…,"exit":0}}
//
// [Open] writes one. A line is written when its file is done. See package jsonlines for what a reader finds. [Read]
// reads what a run has added, and [ParseLine] one line.
package runlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/internal/jsonlines"
)

// Outcome is what became of a file. The words are part of the program's interface.
type Outcome string

// The outcomes.
const (
	OK          Outcome = "ok"
	Unchanged   Outcome = "unchanged"   // was done before, and is passed over
	Kept        Outcome = "kept"        // is archived, but its source was to be deleted and was not
	Other       Outcome = "other"       // is another kind of file
	Damaged     Outcome = "damaged"     // an archive or a netCDF file is damaged
	Failed      Outcome = "failed"      // reading or writing failed, or the target holds something else
	Interrupted Outcome = "interrupted" // by a signal
)

// outcomes are all outcomes in the order of the summary.
var outcomes = []Outcome{OK, Unchanged, Kept, Other, Damaged, Failed, Interrupted}

// Entry is what is known of one file. Sizes are bytes, 0 if unknown.
type Entry struct {
	Start       time.Time `json:"start"`
	End         time.Time `json:"end"`
	Source      string    `json:"source"`
	SourceBytes []byte    `json:"source_bytes,omitempty"` // of a name that is not UTF-8
	Target      string    `json:"target,omitempty"`
	TargetBytes []byte    `json:"target_bytes,omitempty"`
	Size        int64     `json:"size,omitempty"`         // of the netCDF file
	ArchiveSize int64     `json:"archive_size,omitempty"` // of the archive
	Ratio       float64   `json:"ratio,omitempty"`
	SHA256      string    `json:"sha256,omitempty"` // of the netCDF file
	Outcome     Outcome   `json:"outcome"`
	Exit        int       `json:"exit"` // what this file contributes to the exit code
	Error       string    `json:"error,omitempty"`
	// Later is set for a file that the run will come back to. It has no line yet.
	Later bool `json:"-"`
}

// SourceName returns the path or URL of the source.
func (e *Entry) SourceName() string { return either(e.SourceBytes, e.Source) }

// TargetName returns the path or URL of the target, "" if there is none.
func (e *Entry) TargetName() string { return either(e.TargetBytes, e.Target) }

func either(b []byte, s string) string {
	if len(b) > 0 {
		return string(b)
	}
	return s
}

// head begins the first line of a run.
const head = `{"cdfz_log":`

// format is the version of the format.
const format = 1

// Log is a log to which lines are added. It is safe for concurrent use.
type Log struct {
	f     *jsonlines.File
	file  *os.File // that f writes and does not close, or nil
	start time.Time

	mu   sync.Mutex
	sum  map[Outcome]int64
	size int64 // bytes of netCDF files that are ok
	arch int64 // bytes of their archives
}

type runLine struct {
	Format int `json:"cdfz_log"`
	Run    run `json:"run"`
}

type run struct {
	Start   time.Time `json:"start"`
	Verb    string    `json:"verb"`
	Shard   string    `json:"shard,omitempty"`
	Version string    `json:"version"`
	PID     int       `json:"pid"`
}

// Open adds the start of a run to a log. It makes the log if the file does not exist. It fails if another
// program is adding to the log. It also fails if the file is not a log, and leaves that as it is. A pipe, a
// terminal or a device is neither locked nor read. streams are those of the program: a name that leads to one of
// them stands for it. version is that of the program.
func Open(name, verb, shard, version string, streams ...*os.File) (*Log, error) {
	f, file, err := open(name, streams)
	if err != nil {
		return nil, err
	}
	l := &Log{f: f, file: file, sum: map[Outcome]int64{}, start: now()}
	f.AddHead(runLine{format, run{l.start, verb, shard, version, os.Getpid()}})
	if err := f.Err(); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// open opens what a name leads to. The file is for Log.close, or nil.
func open(name string, streams []*os.File) (*jsonlines.File, *os.File, error) {
	st, err := os.Stat(name)
	if err == nil {
		for _, f := range streams {
			// A second open file would have an offset of its own, and overwrite reports.
			if own, err := f.Stat(); err == nil && os.SameFile(own, st) {
				return jsonlines.Stream(f), nil, nil
			}
		}
	}
	if err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return nil, nil, err
		}
		return jsonlines.Stream(f), f, nil
	}
	f, err := jsonlines.Open(name, head, "log")
	return f, nil, err
}

// close closes the file.
func (l *Log) close() error {
	err := l.f.Close()
	if l.file != nil {
		if closeErr := l.file.Close(); err == nil {
			err = closeErr
		}
	}
	return err
}

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// Add adds the line of a file. Errors are returned by Close.
func (l *Log) Add(e *Entry) {
	if e.Later {
		return
	}
	if !utf8.ValidString(e.Source) {
		e.SourceBytes = []byte(e.Source)
	}
	if !utf8.ValidString(e.Target) {
		e.TargetBytes = []byte(e.Target)
	}
	l.mu.Lock()
	l.sum[e.Outcome]++
	if e.Outcome == OK {
		l.size += e.Size
		l.arch += e.ArchiveSize
	}
	l.mu.Unlock()
	l.f.Add(e)
}

// Close adds the sums and returns the first error of the log. exit is the exit code.
func (l *Log) Close(exit int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b bytes.Buffer
	end, files := now(), int64(0)
	for _, o := range outcomes {
		files += l.sum[o]
		fmt.Fprintf(&b, `"%s":%d,`, o, l.sum[o])
	}
	ratio := 0.0
	if l.arch > 0 {
		ratio = math.Round(float64(l.size)/float64(l.arch)*1000) / 1000
	}
	l.f.Add(json.RawMessage(fmt.Sprintf(`{"summary":{"start":%q,"end":%q,"files":%d,%s"size":%d,"archive_size":%d,"ratio":%g,"seconds":%.3f,"exit":%d}}`,
		l.start.Format(time.RFC3339Nano), end.Format(time.RFC3339Nano), files, b.String(), l.size, l.arch, ratio, end.Sub(l.start).Seconds(), exit)))
	return l.close()
}
