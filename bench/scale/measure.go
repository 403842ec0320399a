package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/bench/internal/fields"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/testdata/trees"
)

// verbs are measured in this order: verify needs archives.
var verbs = []string{"archive", "verify"}

// cost is what a verb costs per file. Bytes are those that system calls read and write below the
// folder of the measurement.
type cost struct {
	cpu, wall          float64 // seconds, with -j 1
	rss                int64   // peak of the process, in bytes
	read, written      float64 // bytes
	changes            float64 // calls that change metadata: create, link, rename, remove, set attributes
	lookups            float64 // calls that read metadata: open, stat, list, lock
	flushes            float64
	puts, gets, lists  float64 // requests if source and archive are in a store
	received, uploaded float64 // bytes of their bodies
}

// class is a size of files.
type class struct {
	name  string
	dir   string
	files int
	size  float64 // mean, in bytes
	ratio float64
	costs map[string]*cost // by verb
}

// measured has the sizes that the model uses, in rising order, and one that tests it.
type measured struct {
	used []*class
	test *class
}

func (m *measured) small() *class { return m.used[0] }
func (m *measured) large() *class { return m.used[len(m.used)-1] }

func measure(ctx context.Context) (m measured, err error) {
	cdfz, err := run.Build(ctx)
	if err != nil {
		return m, err
	}
	dir := run.Temp("small")
	size, err := trees.Write(filepath.Join(dir, "data"), *small)
	if err != nil {
		return m, err
	}
	m.used = append(m.used, &class{name: "small", dir: dir, files: *small, size: float64(size) / float64(*small)})
	for _, c := range []struct {
		name string
		size int
	}{{"medium", *medium}, {"large", *large}, {"test", *between}} {
		one, err := makeOne(c.name, int64(c.size))
		if err != nil {
			return m, err
		}
		if c.name == "test" {
			m.test = one
		} else {
			m.used = append(m.used, one)
		}
	}
	all := append(slices.Clone(m.used), m.test)
	// The memory of a process is not known below that of this one when it was started, which the
	// stores enlarge.
	for _, step := range []func(*class, context.Context, string) error{(*class).measureAlone, (*class).measureCalls, (*class).measureRequests} {
		for _, c := range all {
			if err := step(c, ctx, cdfz); err != nil {
				return m, fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return m, nil
}

// makeOne makes a folder with one file of a size in bytes.
func makeOne(name string, size int64) (*class, error) {
	dir := run.Temp(name)
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o777); err != nil {
		return nil, err
	}
	f, err := fields.Synthetic(size)
	if err != nil {
		return nil, err
	}
	err = run.WriteFile(filepath.Join(dir, "data", name+".nc"), func(w io.Writer) error { _, err := f.WriteTo(w); return err })
	return &class{name: name, dir: dir, files: 1, size: float64(f.Size())}, err
}

// args returns a command that works on the folder of the class, with archives in the folder to.
func (c *class) args(cdfz, verb, to string) []string {
	a := []string{cdfz, verb, "-q", "-j", "1"}
	if verb == "archive" {
		return append(a, "--receipts", filepath.Join(c.dir, to+".jsonl"), "-o", filepath.Join(c.dir, to)+"/", filepath.Join(c.dir, "data"))
	}
	return append(a, filepath.Join(c.dir, to))
}

// measureAlone measures time and memory.
func (c *class) measureAlone(ctx context.Context, cdfz string) error {
	n := float64(c.files)
	c.costs = map[string]*cost{}
	for _, verb := range verbs {
		used, err := run.Command(ctx, c.args(cdfz, verb, "alone")...)
		if err != nil {
			return err
		}
		c.costs[verb] = &cost{cpu: used.CPU.Seconds() / n, wall: used.Wall.Seconds() / n, rss: used.RSS}
	}
	bytes, err := run.BytesBelow(filepath.Join(c.dir, "alone"))
	c.ratio = c.size * n / float64(bytes)
	return err
}

// measureCalls counts system calls.
func (c *class) measureCalls(ctx context.Context, cdfz string) error {
	for _, verb := range verbs {
		log := filepath.Join(c.dir, "strace")
		cmd := []string{"strace", "-f", "-y", "-s", "0", "-qq", "-o", log, "-e", "trace=%file,%desc"}
		if _, err := run.Command(ctx, append(cmd, c.args(cdfz, verb, "traced")...)...); err != nil {
			return err
		}
		if err := c.costs[verb].trace(log, c.dir, float64(c.files)); err != nil {
			return err
		}
	}
	return nil
}

// measureRequests counts requests, from a store and to it.
func (c *class) measureRequests(ctx context.Context, cdfz string) error {
	s, err := newStore()
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.fill(filepath.Join(c.dir, "data")); err != nil {
		return err
	}
	n := float64(c.files)
	for _, verb := range verbs {
		a := []string{verb, "-q", "-j", "1"}
		if verb == "archive" {
			a = append(a, "-o", "s3://bucket/arch/", "s3://bucket/in/")
		} else {
			a = append(a, "s3://bucket/arch/")
		}
		s.reset()
		cmd := exec.CommandContext(ctx, cdfz, a...)
		cmd.Env = append(os.Environ(), s.env()...)
		if _, err := run.Cmd(cmd, nil); err != nil {
			return err
		}
		k := c.costs[verb]
		k.puts, k.gets, k.lists = float64(s.puts.Load())/n, float64(s.gets.Load())/n, float64(s.lists.Load())/n
		k.received, k.uploaded = float64(s.sent.Load())/n, float64(s.received.Load())/n
	}
	return nil
}

var (
	changing = []string{"mkdirat", "mkdir", "linkat", "link", "rename", "renameat", "renameat2", "unlink", "unlinkat", "fchmod", "fchmodat", "fchmodat2", "utimensat",
		"fchown", "fchownat", "ftruncate", "fallocate"}
	looking  = []string{"openat", "newfstatat", "fstat", "statx", "getdents64", "flock", "readlinkat", "faccessat", "faccessat2", "fstatfs", "statfs"}
	flushing = []string{"fsync", "fdatasync", "syncfs"}
	reading  = []string{"read", "pread64", "readv", "preadv"}
	writing  = []string{"write", "pwrite64", "writev", "pwritev"}
)

// call matches a line of strace: the name of a call, its arguments and its result.
var call = regexp.MustCompile(`^\d+ +(\w+)\((.*)\) += (-?\d+)`)

// trace counts the calls of a log of strace that name a path below dir. Calls that strace has split
// because another thread ran are joined first.
func (k *cost) trace(log, dir string, n float64) error {
	f, err := os.Open(log)
	if err != nil {
		return err
	}
	defer f.Close()
	begun := map[string]string{} // by process
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line := s.Text()
		pid, rest, _ := strings.Cut(line, " ")
		if head, ok := strings.CutSuffix(line, " <unfinished ...>"); ok {
			begun[pid] = head
			continue
		}
		if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, "<... ") {
			_, tail, _ := strings.Cut(rest, "resumed>")
			line = begun[pid] + tail
		}
		if !strings.Contains(line, dir) {
			continue
		}
		found := call.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		result, err := strconv.ParseFloat(found[3], 64)
		if err != nil {
			return err
		}
		name, created := found[1], strings.Contains(found[2], "O_CREAT") || strings.Contains(found[2], "O_TMPFILE")
		switch {
		case slices.Contains(changing, name) || name == "openat" && created:
			k.changes += 1 / n
		case slices.Contains(looking, name):
			k.lookups += 1 / n
		case slices.Contains(flushing, name):
			k.flushes += 1 / n
		case slices.Contains(reading, name) && result > 0:
			k.read += result / n
		case slices.Contains(writing, name) && result > 0:
			k.written += result / n
		}
	}
	return s.Err()
}

// report prints what was measured.
func (m *measured) report(r *run.Report) {
	r.Printf("\nMeasured here, per file, with -j 1 and warm caches:\n\n")
	t := r.Table("files %s", "verb %s", "n %d", "bytes %.0f", "ratio %.2f", "CPU s %.4f", "files/s %.1f", "MB/s %.1f", "peak MB %.0f",
		"read B %.0f", "written B %.0f", "changes %.2f", "lookups %.2f", "flushes %.2f", "PUT %.2f", "GET %.2f", "LIST %.3f", "received B %.0f", "sent B %.0f")
	for _, c := range append(slices.Clone(m.used), m.test) {
		for _, verb := range verbs {
			k := c.costs[verb]
			t.Row(c.name, verb, c.files, c.size, c.ratio, k.cpu, 1/k.wall, c.size/k.wall/1e6, float64(k.rss)/1e6,
				k.read, k.written, k.changes, k.lookups, k.flushes, k.puts, k.gets, k.lists, k.received, k.uploaded)
		}
	}
}

// reportTest compares the model with a size that it does not use.
func (m *measured) reportTest(r *run.Report) {
	r.Printf("\nThe test file by the model, and as it was measured:\n\n")
	t := r.Table("verb %s", "CPU s: model %.3f", "measured %.3f", "GET: model %.1f", "measured %.1f")
	for _, verb := range verbs {
		cpu, gets := func(c *cost) float64 { return c.cpu }, func(c *cost) float64 { return c.gets }
		k := m.test.costs[verb]
		t.Row(verb, m.at(verb, m.test.size, cpu), k.cpu, m.at(verb, m.test.size, gets), k.gets)
	}
}

// at returns the cost of a file of any size, on the line through the two nearest measured sizes.
func (m *measured) at(verb string, bytes float64, of func(*cost) float64) float64 {
	i := 1
	for i < len(m.used)-1 && bytes > m.used[i].size {
		i++
	}
	a, b := m.used[i-1], m.used[i]
	x, y := of(a.costs[verb]), of(b.costs[verb])
	return max(0, x+(y-x)*(bytes-a.size)/(b.size-a.size))
}
