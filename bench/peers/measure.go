package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/bench/internal/tools"
)

// sample is a run of a tool in both directions.
type sample struct {
	stored         int64
	write, restore cost
	exact          bool
}

// cost is the cost of a process.
type cost struct {
	wall, cpu time.Duration
	rss       int64 // peak, in bytes
}

// measure runs a tool. It removes the tool's output afterwards, so that dirty pages are
// not written back during other runs.
func measure(ctx context.Context, t tool, in *input, dir string, o *options) (sample, error) {
	var s sample
	packed, back := filepath.Join(dir, "packed"), filepath.Join(dir, "back.nc")
	defer os.Remove(packed)
	defer os.Remove(back)
	if err := warm(in.path); err != nil {
		return s, err
	}
	if err := o.prepare(dir, in.size); err != nil {
		return s, err
	}
	var err error
	if s.write, err = runTool(ctx, t.compress, in.path, packed, o.sync); err != nil {
		return s, fmt.Errorf("%s: %w", t.name, err)
	}
	st, err := os.Stat(packed)
	if err != nil {
		return s, err
	}
	s.stored = st.Size()
	if err := o.prepare(dir, in.size); err != nil {
		return s, err
	}
	if s.restore, err = runTool(ctx, t.restore, packed, back, o.sync); err != nil {
		return s, fmt.Errorf("%s, back: %w", t.name, err)
	}
	s.exact, err = same(in.path, back)
	return s, err
}

// prepare writes a file and removes it, if requested. A virtual machine may take ten
// times as long for a memory page that it has not used yet or has given up, which hits
// programs at random.
func (o *options) prepare(dir string, size int64) error {
	if !o.touch {
		return nil
	}
	name := filepath.Join(dir, "touch")
	defer os.Remove(name)
	return tools.WriteFile(name, func(w io.Writer) error {
		buf := make([]byte, 1<<20)
		for ; size > 0; size -= int64(len(buf)) {
			if _, err := w.Write(buf); err != nil {
				return err
			}
		}
		return nil
	})
}

// warm reads a file, so that it is in the page cache.
func warm(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 1<<20)
	for {
		if _, err := f.Read(buf); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func runTool(ctx context.Context, args []string, in, out string, sync bool) (cost, error) {
	args = slices.Clone(args)
	toFile := false
	for i, a := range args {
		switch a {
		case "IN":
			args[i] = in
		case "OUT":
			args[i] = out
			toFile = true
		}
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	var f *os.File
	if !toFile {
		var err error
		if f, err = os.Create(out); err != nil {
			return cost{}, err
		}
		cmd.Stdout = f // the process writes to it directly
	}
	start := time.Now()
	err := cmd.Run()
	if err == nil && sync {
		err = syncFile(out)
	}
	wall := time.Since(start)
	if f != nil {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		return cost{}, fmt.Errorf("%w: %s", err, strings.TrimSpace(messages.String()))
	}
	ps := cmd.ProcessState
	return cost{wall, ps.UserTime() + ps.SystemTime(), peakRSS(ps)}, nil
}

// syncFile waits until a file is on the disk.
func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// same compares two files byte by byte.
func same(a, b string) (bool, error) {
	fa, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer fa.Close()
	fb, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer fb.Close()
	ba, bb := make([]byte, 1<<20), make([]byte, 1<<20)
	for {
		na, erra := io.ReadFull(fa, ba)
		nb, errb := io.ReadFull(fb, bb)
		if !bytes.Equal(ba[:na], bb[:nb]) {
			return false, nil
		}
		for _, err := range []error{erra, errb} {
			if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
				return false, err
			}
		}
		if erra != nil {
			return errb != nil, nil
		}
	}
}
