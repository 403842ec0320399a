//go:build linux

// Command mount compares reading a file through cdfz mount with reading the original, and
// cat with cdfz restore.
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
	"errors"
	"flag"
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

	"github.com/cdfz-format/cdfz/cdf3"
)

func main() {
	n := flag.Int("n", 5, "runs of each")
	flag.Parse()
	if flag.NArg() != 1 || *n < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *n); err != nil {
		fmt.Fprintln(os.Stderr, "mount:", err)
		os.Exit(1)
	}
}

// bench holds the files of a comparison.
type bench struct {
	cdfz, raw, archive, mount string
	server                    *exec.Cmd
}

func run(raw string, n int) (err error) {
	dir, err := os.MkdirTemp("", "mount")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{cdfz: filepath.Join(dir, "cdfz"), raw: raw, archive: filepath.Join(dir, "src", "x.nc.cdfz"), mount: filepath.Join(dir, "mnt", "x.nc")}
	for _, d := range []string{b.archive, b.mount} {
		if err := os.Mkdir(filepath.Dir(d), 0o777); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"go", "build", "-o", b.cdfz, "./cmd/cdfz"}, {b.cdfz, "archive", "-q", "-o", b.archive, raw}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	stop, err := b.start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	fmt.Printf("%s, medians of %d runs in turns\n\n%-22s %-10s %8s %8s\n", filepath.Base(raw), n, "", "", "wall s", "CPU s")
	return b.compare(n)
}

// start mounts the folder of the archive. stop unmounts it.
func (b *bench) start() (stop func() error, err error) {
	b.server = exec.Command(b.cdfz, "mount", filepath.Dir(b.archive), filepath.Dir(b.mount))
	b.server.Stderr = os.Stderr
	out, err := b.server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := b.server.Start(); err != nil {
		return nil, err
	}
	stop = func() error {
		_ = b.server.Process.Signal(syscall.SIGTERM)
		return b.server.Wait()
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "mounted\n" {
		return nil, errors.Join(fmt.Errorf("expected mounted, found %q: %w", line, err), stop())
	}
	return stop, nil
}

// compare runs all comparisons.
func (b *bench) compare(n int) error {
	name, err := largest(b.raw)
	if err != nil {
		return err
	}
	restore := []string{b.cdfz, "restore", "-q", "-o", "-", b.archive}
	if err := b.pair(n, "all bytes, first", "restore", restore, "cat", []string{"cat", b.mount}, true); err != nil {
		return err
	}
	// ncks -O renames its output over an existing file, even over a device.
	out := filepath.Join(filepath.Dir(b.cdfz), "out.nc")
	for _, args := range [][]string{{"cat"}, {"cdo", "-s", "infon"}, {"ncks", "-H", "-C", "-v", name, "--trd", "-d", "time,0,3"}, {"ncks", "-O", "-o", out, "-v", name}} {
		if _, err := exec.LookPath(args[0]); err != nil {
			fmt.Println(args[0], "is not installed")
			continue
		}
		of := func(file string) []string { return append(slices.Clone(args), file) }
		what := args[0] + ", warm"
		if slices.Contains(args, "-O") {
			what = "ncks -v, warm"
		}
		if err := b.pair(n, what, "original", of(b.raw), "mount", of(b.mount), false); err != nil {
			return err
		}
	}
	return nil
}

// largest returns the name of the largest variable of a file.
func largest(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	h, err := cdf3.Read(f, st.Size())
	if err != nil {
		return "", err
	}
	return slices.MaxFunc(h.Vars, func(a, b cdf3.Var) int { return cmp.Compare(a.Len, b.Len) }).Name, nil
}

// pair runs two commands in turns and prints their times.
func (b *bench) pair(n int, what, name1 string, args1 []string, name2 string, args2 []string, first bool) error {
	var t1, t2 times
	for i := range n + 1 {
		for _, r := range []struct {
			t    *times
			args []string
		}{{&t1, args1}, {&t2, args2}} {
			if first {
				if err := b.forget(); err != nil {
					return err
				}
			}
			wall, cpu, err := b.timed(r.args)
			if err != nil {
				return fmt.Errorf("%v: %w", r.args, err)
			}
			if i > 0 { // the first turn fills the caches
				r.t.wall, r.t.cpu = append(r.t.wall, wall), append(r.t.cpu, cpu)
			}
		}
	}
	fmt.Printf("%-22s %-10s %8.2f %8.2f\n", what, name1, median(t1.wall), median(t1.cpu))
	fmt.Printf("%-22s %-10s %8.2f %8.2f   x %.2f %.2f\n", "", name2, median(t2.wall), median(t2.cpu), median(t2.wall)/median(t1.wall), median(t2.cpu)/median(t1.cpu))
	return nil
}

// times are those of several runs of a command, in seconds.
type times struct{ wall, cpu []float64 }

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// forget drops what the kernel has of the mounted file, and reads the archive.
func (b *bench) forget() error {
	f, err := os.Open(b.mount)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return err
	}
	a, err := os.Open(b.archive)
	if err != nil {
		return err
	}
	defer a.Close()
	_, err = io.Copy(io.Discard, a)
	return err
}

// timed runs a command. Its processor time has that of the mount's process added.
func (b *bench) timed(args []string) (wall, cpu float64, err error) {
	before, err := b.serverTime()
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.Command(args[0], args[1:]...)
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, err
	}
	wall = time.Since(start).Seconds()
	after, err := b.serverTime()
	return wall, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds() + after - before, err
}

// serverTime returns the processor time of the mount's process, in seconds.
func (b *bench) serverTime() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.server.Process.Pid))
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
	return float64(user+system) / 100, errors.Join(err1, err2)
}
