//go:build linux

// Mount compares reading a file through cdfz mount with reading the original, and cat with
// cdfz restore.
//
//	go run ./bench/mount -n 5 big.nc
//
// The original is in the page cache. Through the mount, "first" means that the kernel has
// nothing of the file, "warm" that it was read before. Processor time includes that of
// cdfz mount. CDO and NCO are used if they are installed. Root is needed, and /dev/fuse.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/bench/internal/fields"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/cdf3"
)

var rounds = run.Rounds(5)

func main() {
	run.Cdfz()
	run.Dir()
	run.Out()
	run.Main("FILE", 1, 1, compare)
}

// mounted is a file that is mounted.
type mounted struct {
	archive, file string
	server        *exec.Cmd
}

func compare(ctx context.Context, args []string) (err error) {
	raw := args[0]
	cdfz, err := run.Build(ctx)
	if err != nil {
		return err
	}
	f, h, err := fields.Open(raw)
	if err != nil {
		return err
	}
	f.Close()
	largest := slices.MaxFunc(h.Vars, func(a, b cdf3.Var) int { return cmp.Compare(a.Len, b.Len) }).Name
	m := &mounted{archive: run.Temp("src/x.nc.cdfz"), file: run.Temp("mnt/x.nc")}
	if err := errors.Join(os.Mkdir(run.Temp("src"), 0o777), os.Mkdir(run.Temp("mnt"), 0o777)); err != nil {
		return err
	}
	if _, err := run.Command(ctx, cdfz, "archive", "-q", "-o", m.archive, raw); err != nil {
		return err
	}
	if err := m.start(cdfz); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.stop()) }()
	r := run.NewReport()
	r.Printf("%s, medians of %d rounds\n\n", filepath.Base(raw), *rounds)
	t := r.Table("%s", "%s", "wall s %.2f", "CPU s %.2f", "x wall %.2f", "x CPU %.2f")
	pair := func(what string, first, second *run.Task) error {
		if err := run.Turns(*rounds, true, first, second); err != nil {
			return err
		}
		t.Row(what, first.Name, first.Wall(), first.CPU(), nil, nil)
		t.Row("", second.Name, second.Wall(), second.CPU(), float64(second.Wall())/float64(max(first.Wall(), 1)), float64(second.CPU())/float64(max(first.CPU(), 1)))
		return nil
	}
	restore := m.task(ctx, "restore", true, cdfz, "restore", "-q", "-o", "-", m.archive)
	if err := pair("all bytes, first", restore, m.task(ctx, "cat", true, "cat", m.file)); err != nil {
		return err
	}
	// ncks -O renames its output over an existing file, even over a device.
	for _, c := range [][]string{{"cat, warm", "cat"}, {"cdo, warm", "cdo", "-s", "infon"}, {"ncks, warm", "ncks", "-H", "-C", "-v", largest, "--trd", "-d", "time,0,3"},
		{"ncks -v, warm", "ncks", "-O", "-o", run.Temp("out.nc"), "-v", largest}} {
		what, args := c[0], c[1:]
		if _, err := exec.LookPath(args[0]); err != nil {
			run.Say("without %s: %v", what, err)
			continue
		}
		of := func(name, file string) *run.Task {
			return m.task(ctx, name, false, slices.Concat(args, []string{file})...)
		}
		if err := pair(what, of("original", raw), of("mount", m.file)); err != nil {
			return err
		}
	}
	return r.Save()
}

// start mounts the folder of the archive.
func (m *mounted) start(cdfz string) error {
	m.server = exec.Command(cdfz, "mount", filepath.Dir(m.archive), filepath.Dir(m.file))
	m.server.Stderr = os.Stderr
	out, err := m.server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := m.server.Start(); err != nil {
		return err
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "mounted\n" {
		return errors.Join(fmt.Errorf("expected mounted, found %q: %w", line, err), m.stop())
	}
	return nil
}

// stop unmounts the folder.
func (m *mounted) stop() error {
	return errors.Join(m.server.Process.Signal(syscall.SIGTERM), m.server.Wait())
}

// task measures a program. Its processor time includes that of the mount's process. With first,
// the kernel has nothing of the mounted file when the program starts.
func (m *mounted) task(ctx context.Context, name string, first bool, args ...string) *run.Task {
	return &run.Task{Name: name, Run: func(int) (c run.Cost, err error) {
		if first {
			if err := m.forget(); err != nil {
				return c, err
			}
		}
		before, err := m.serverTime()
		if err != nil {
			return c, err
		}
		cmd := exec.CommandContext(ctx, args[0], args[1:]...) // its output goes to /dev/null
		if c, err = run.Cmd(cmd, nil); err != nil {
			return c, err
		}
		after, err := m.serverTime()
		c.CPU += after - before
		return c, err
	}}
}

// forget drops what the kernel has of the mounted file, and reads the archive.
func (m *mounted) forget() error {
	f, err := os.Open(m.file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return err
	}
	a, err := os.Open(m.archive)
	if err != nil {
		return err
	}
	defer a.Close()
	_, err = io.Copy(io.Discard, a)
	return err
}

// serverTime returns the processor time of the mount's process.
func (m *mounted) serverTime() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.server.Process.Pid))
	if err != nil {
		return 0, err
	}
	// proc(5): after the name in parentheses, fields 12 and 13 are user and system time in
	// hundredths of a second.
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("expected 13 fields, found %q", rest)
	}
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond, errors.Join(err1, err2)
}
