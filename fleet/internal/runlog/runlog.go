// Package runlog reads the logs of cdfz archive, verify and restore (docs/trees.md).
package runlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Entry is a line about a file.
type Entry struct {
	Source      string `json:"source"`
	SourceBytes []byte `json:"source_bytes"` // of a name that is not UTF-8
	Target      string `json:"target"`
	TargetBytes []byte `json:"target_bytes"`
	Size        int64  `json:"size"`         // of the netCDF file, in bytes
	ArchiveSize int64  `json:"archive_size"` // in bytes
	Outcome     string `json:"outcome"`      // ok, unchanged, kept, other, damaged, failed or interrupted
	Exit        int    `json:"exit"`
	Error       string `json:"error"`
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

// Run is what a run of cdfz has added to a log.
type Run struct {
	Entries  []Entry
	Complete bool // there is a summary
}

// maxLine bounds a line of a log, in bytes: names of 64 KiB in two fields, escaped, and an error.
const maxLine = 4 << 20

// Length returns the size of a file in bytes, 0 if there is none.
func Length(name string) int64 {
	st, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return st.Size()
}

// Read reads what the process pid has added to a log that had from bytes before it began. Another
// run may have added lines in between, and the process may have removed an incomplete line, so all
// lines after the last complete one before from are read. A process that was killed before it had
// the log for itself has added nothing.
func Read(name string, from int64, pid int) (r Run, err error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	} else if err != nil {
		return r, err
	}
	defer f.Close()
	if from, err = lineStart(f, from); err != nil {
		return r, err
	}
	s := bufio.NewScanner(io.NewSectionReader(f, from, 1<<62))
	s.Buffer(make([]byte, 64<<10), maxLine)
	ours := false
	for s.Scan() {
		var line struct {
			Log *int `json:"cdfz_log"`
			Run struct {
				PID int `json:"pid"`
			} `json:"run"`
			Summary *struct{} `json:"summary"`
			Entry
		}
		if json.Unmarshal(s.Bytes(), &line) != nil {
			continue // the last line of a run that was killed
		}
		switch {
		case line.Log != nil:
			ours = line.Run.PID == pid
		case !ours:
		case line.Summary != nil:
			r.Complete = true
		case line.Outcome != "":
			r.Entries = append(r.Entries, line.Entry)
		}
	}
	if err := s.Err(); err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// lineStart returns where the line begins that holds the byte before off, or off, if that ends a line.
func lineStart(f *os.File, off int64) (int64, error) {
	var b [4096]byte
	for off > 0 {
		n := min(off, int64(len(b)))
		got, err := f.ReadAt(b[:n], off-n)
		if int64(got) < n { // the file has become shorter
			if err == io.EOF {
				return 0, nil
			}
			return 0, err
		}
		for i := n - 1; i >= 0; i-- {
			if b[i] == '\n' {
				return off - n + i + 1, nil
			}
		}
		off -= n
	}
	return 0, nil
}
