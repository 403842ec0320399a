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

// Run is what a run of cdfz has added to a log.
type Run struct {
	Entries  []Entry
	Complete bool // there is a summary
}

// Line is a line of a log: the start of a run, a file, or the end of a run.
type Line struct {
	Format int `json:"cdfz_log"` // of the start of a run; 0 for other lines
	Run    struct {
		PID int `json:"pid"` // of the process
	} `json:"run"`
	Summary *struct{} `json:"summary"` // not nil at the end of a run
	Entry             // of a file; without Outcome for other lines
}

// ParseLine parses a line. ok is false for the last line of a run that was killed.
func ParseLine(text []byte) (l Line, ok bool) { return l, json.Unmarshal(text, &l) == nil }

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
		line, ok := ParseLine(s.Bytes())
		if !ok {
			continue
		}
		switch {
		case line.Format != 0:
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
