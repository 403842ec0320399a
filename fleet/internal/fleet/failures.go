package fleet

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// Failure is a file that could not be done.
type Failure struct {
	Source string // path or URL
	Kind   string // outcome of cdfz's log: damaged, other, failed, interrupted, kept; or killed, usage
	Reason string
	Exit   int // exit code of cdfz for this file: 3 for damage, 4 if the same command will fail again
}

// failureLine is a failure in the file of Job.Failures.
type failureLine struct {
	Source      string `json:"source"`
	SourceBytes []byte `json:"source_bytes,omitempty"` // of a name that is not UTF-8
	Kind        string `json:"kind"`
	Reason      string `json:"reason"`
	Exit        int    `json:"exit"`
}

// failuresHead is the first line of that file.
type failuresHead struct {
	Format int    `json:"cdfz_failures"`
	Run    string `json:"run"`
	Verb   string `json:"verb"`
}

// firstFailure emits the first failure of a file.
func firstFailure(_ string, failures func(*Failure) bool, emit func(Failure)) {
	var f Failure
	if failures(&f) {
		emit(f)
	}
}

// failuresFn writes the failures into a file.
type failuresFn struct{ Job Job }

func (w *failuresFn) ProcessElement(_ int, failures func(*Failure) bool) error {
	if err := w.write(failures); err != nil {
		return fmt.Errorf("fleet: failures: %w", err)
	}
	return nil
}

func (w *failuresFn) write(failures func(*Failure) bool) error {
	j := &w.Job
	f, err := atomicfile.Create(j.Failures, &atomicfile.Options{
		// The bundle may be retried, but no other pipeline's file is replaced.
		Overwrite: true, MakeDirs: true,
		MayReplace: func(old fs.FileInfo, new io.ReaderAt, size int64) error { return j.ours() },
	})
	if err != nil {
		return err
	}
	defer f.Close()
	buf := bufio.NewWriter(f)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(failuresHead{1, j.Run, j.Verb}); err != nil {
		return err
	}
	var one Failure
	for failures(&one) {
		line := failureLine{Source: one.Source, Kind: one.Kind, Reason: one.Reason, Exit: one.Exit}
		if !utf8.ValidString(one.Source) {
			line.SourceBytes = []byte(one.Source)
		}
		if err := enc.Encode(line); err != nil {
			return err
		}
		one = Failure{}
	}
	if err := buf.Flush(); err != nil {
		return err
	}
	return f.Commit()
}

// ours returns an error if the file of failures is of another pipeline.
func (j *Job) ours() error {
	head, err := readFailuresHead(j.Failures)
	if err != nil {
		return err
	} else if head.Format != 1 || head.Run != j.Run {
		return errors.New("expected no file or that of this run, found another one")
	}
	return nil
}

// maxHead bounds the first line of a file of failures, in bytes.
const maxHead = 4096

// readFailuresHead reads the first line of a file of failures.
func readFailuresHead(name string) (h failuresHead, err error) {
	f, err := os.Open(name)
	if err != nil {
		return h, err
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, maxHead)).Decode(&h); err != nil {
		return h, fmt.Errorf("%s is no file of failures: %w", name, err)
	}
	return h, nil
}
