package fleet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cdfz-format/cdfz/internal/retry"
	"github.com/cdfz-format/cdfz/internal/runlog"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// runFn runs cdfz for a shard.
type runFn struct{ Job Job }

func (f *runFn) ProcessElement(ctx context.Context, shard string, items func(*Item) bool, failed func(string, Failure), counted func(string, Summary)) error {
	r := shardRun{Job: &f.Job, shard: shard}
	var it Item
	for items(&it) {
		if it.Error != "" { // a local folder
			name := filepath.Join(f.Job.Source, filepath.FromSlash(string(it.Name)))
			r.failures = append(r.failures, Failure{name, "failed", it.Error, it.Exit})
			it = Item{}
			continue
		}
		r.names = append(r.names, string(it.Name))
		r.size += it.Size
		it = Item{}
	}
	// A list may have a name twice.
	slices.Sort(r.names)
	r.names = slices.Compact(r.names)
	if err := os.MkdirAll(f.Job.Dir, 0o777); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	if err := r.run(ctx); err != nil {
		return fmt.Errorf("fleet: shard %s: %w", shard, err)
	}
	sum := r.summary()
	sum.count(ctx)
	for _, fail := range r.failures {
		failed(fail.Source, fail)
	}
	counted(shard, sum)
	return nil
}

// shardRun is the work on a shard.
type shardRun struct {
	*Job
	shard    string
	names    []string // sorted
	size     int64    // bytes of the files
	done     map[string]runlog.Entry
	failures []Failure
	starts   int64 // of cdfz
	plan     plan  // of a dry run
	others   int64 // files of another kind that it has found
}

// call is a command of cdfz for files of a shard.
type call struct {
	args  []string
	names []string  // as cdfz gets them
	out   io.Writer // of standard output; nil for none
}

// calls returns the commands for the shard: one, or one for each folder of a store, because cdfz
// makes the name of a target from the last element of a URL.
func (r *shardRun) calls() (all []call) {
	if len(r.names) == 0 {
		return nil
	}
	one := func(names []string, target string, file ...string) {
		c := call{names: names}
		c.args = append(r.arguments(target, r.file("receipts.jsonl"), r.file(r.Verb+".jsonl")), file...)
		all = append(all, c)
	}
	if !s3.IsURL(r.Source) {
		one(r.names, r.Target, folder(r.Source))
		return all
	}
	folders := map[string][]string{}
	for _, n := range r.names {
		dir := "."
		if r.Target != "" {
			// Any text may be a key. A folder "../x" would lead out of the target.
			if !fs.ValidPath(n) || strings.IndexByte(n, 0) >= 0 {
				r.failures = append(r.failures, Failure{r.Source + n, "failed", fmt.Sprintf("expected a key that is the path of a file, found %q", n), exitLasting})
				continue
			}
			dir = path.Dir(n)
		}
		folders[dir] = append(folders[dir], r.Source+n)
	}
	for dir, names := range folders {
		target := r.Target
		if dir != "." {
			target = folder(target) + dir
		}
		one(names, target)
	}
	slices.SortFunc(all, func(a, b call) int { return cmp.Compare(a.names[0], b.names[0]) })
	return all
}

// arguments returns those of a command of cdfz for a list on standard input. A dry run has no log.
func (j *Job) arguments(target, receipts, log string) []string {
	args := append([]string{j.Verb, "--files-from", "-", "--null"}, j.Args...)
	switch {
	case j.DryRun:
		args = append(args, "--dry-run", "--json")
	case log != "":
		args = append(args, "-q", "--log", log)
	}
	if j.Verb == "archive" {
		args = append(args, "--receipts", receipts)
		if !j.DryRun {
			args = append(args, "--receipts-also", j.Dir) // those of the other shards vouch for archives, too
		}
	}
	if target != "" {
		args = append(args, "-o", folder(target))
	}
	return args
}

// Probe returns the arguments of a command of cdfz that finds out, with an empty list on standard input,
// whether cdfz accepts the command line. It archives nothing. empty is an empty folder, which pack packs into no volume.
func (j *Job) Probe(empty string) []string {
	if j.Verb == "pack" {
		return append(j.packArgs(1), folder(empty))
	}
	probe := *j
	probe.DryRun = j.Verb == "archive"
	args := probe.arguments(j.Target, filepath.Join(j.Dir, "none"), "")
	if !s3.IsURL(j.Source) {
		args = append(args, folder(j.Source))
	}
	return args
}

// folder returns the name of a folder or a prefix with a slash at its end.
func folder(name string) string {
	if strings.HasSuffix(name, "/") || strings.HasSuffix(name, string(filepath.Separator)) {
		return name
	}
	return name + "/"
}

// file returns a path in Dir.
func (r *shardRun) file(suffix string) string { return filepath.Join(r.Dir, r.shard+"."+suffix) }

func (r *shardRun) run(ctx context.Context) error {
	r.done = map[string]runlog.Entry{}
	for _, c := range r.calls() {
		if r.DryRun {
			if err := r.dry(ctx, c); err != nil {
				return err
			}
			continue
		}
		if err := r.repeat(ctx, c); err != nil {
			return err
		}
	}
	if !r.Catalogue {
		return nil
	}
	var archives []string
	for _, e := range r.done {
		if e.Outcome != runlog.Other {
			archives = append(archives, e.TargetName())
		}
	}
	if len(archives) == 0 {
		return nil
	}
	slices.Sort(archives)
	// The part is made from the archives. -f replaces only a catalogue.
	args := []string{"catalogue", "-q", "-f", "--files-from", "-", "--null", "-o", r.file("parquet"), "--receipts", r.file("receipts.jsonl")}
	return r.catalogue(ctx, call{args: args, names: archives})
}

// catalogue makes the part of a catalogue.
func (r *shardRun) catalogue(ctx context.Context, c call) error {
	var end ending
	err := r.policy().Do(ctx, func() (next retry.Next, err error) {
		end, err = r.start(ctx, c)
		return retry.Next{Again: err == nil && end.code != 0}, err
	})
	if err == nil && end.code != 0 {
		r.failures = append(r.failures, Failure{r.file("parquet"), kindOf(end), end.reason(), end.exit()})
	}
	return err
}

// policy is that of starts of cdfz.
func (r *shardRun) policy() retry.Policy {
	return retry.Policy{Attempts: r.Attempts, First: r.Wait, Longest: r.Wait << maxDoubles}
}

// repeat runs a command until nothing is left that may pass.
func (r *shardRun) repeat(ctx context.Context, c call) error {
	var failed []Failure // of the last attempt
	err := r.policy().Do(ctx, func() (next retry.Next, err error) {
		failed, next.Again, err = r.once(ctx, c)
		return next, err
	})
	if err == nil {
		r.failures = append(r.failures, failed...)
	}
	return err
}

// once runs a command. again reports whether another run may succeed where this one has failed.
func (r *shardRun) once(ctx context.Context, c call) (failed []Failure, again bool, err error) {
	log := r.file(r.Verb + ".jsonl")
	from := runlog.Length(log)
	end, err := r.start(ctx, c)
	if err != nil {
		return nil, false, err
	}
	l, err := runlog.Read(log, from, end.pid)
	if err != nil {
		return nil, false, err
	}
	explained := end.code == 0
	named := map[string]bool{}
	for _, n := range c.names {
		named[r.sourceOf(n)], named[n] = true, true // a name that leads outside of the source is logged as it is
	}
	var places []Failure // of folders of targets that cannot be written: their files were not tried, and have no lines
	for _, e := range l.Entries {
		switch e.Outcome {
		case runlog.OK:
			r.done[e.SourceName()] = e
		case runlog.Unchanged:
			if _, ok := r.done[e.SourceName()]; !ok {
				r.done[e.SourceName()] = e
			}
		default:
			explained = true
			if e.Outcome == runlog.Other && r.List == "" {
				r.done[e.SourceName()] = e // a folder may hold other files
				continue
			}
			fail := Failure{e.SourceName(), string(e.Outcome), e.Error, e.Exit}
			if named[fail.Source] {
				failed = append(failed, fail)
			} else {
				places = append(places, fail)
			}
			again = again || e.Exit != exitLasting && (e.Outcome == runlog.Failed || e.Outcome == runlog.Interrupted)
		}
	}
	// Without a summary, or with a code that no line explains, some files may have no line.
	again = again || !l.Complete || !explained
	if !l.Complete || !explained || len(places) > 0 {
		if more := r.missing(c, failed, end); len(more) > 0 {
			failed, places = append(failed, more...), nil
		}
	}
	failed = append(failed, places...)
	return failed, again && end.code != exitUsage, nil
}

// sourceOf returns the source that a line of the log has for a name.
func (r *shardRun) sourceOf(name string) string {
	if s3.IsURL(r.Source) {
		return name
	}
	return filepath.Join(r.Source, filepath.FromSlash(name))
}

// missing returns a failure for each file of a command that is neither done nor in failed.
func (r *shardRun) missing(c call, failed []Failure, end ending) (more []Failure) {
	listed := map[string]bool{}
	for _, f := range failed {
		listed[f.Source] = true
	}
	for _, n := range c.names {
		source := r.sourceOf(n)
		if _, ok := r.done[source]; !ok && !listed[source] && !listed[n] {
			more = append(more, Failure{source, kindOf(end), end.reason(), end.exit()})
		}
	}
	return more
}

// maxDoubles is how often the pause between two attempts doubles.
const maxDoubles = 6

// Exit codes of cdfz.
const (
	exitFailed  = 1
	exitUsage   = 2 // the command line is wrong, and nothing was written
	exitDamaged = 3
	exitLasting = 4 // the same command will fail again
)

// ending is how a process ended.
type ending struct {
	pid     int
	code    int // -1 for a signal
	state   string
	message string // the end of its standard error
}

// exit returns the exit code of a file that has no line in the log.
func (e ending) exit() int {
	if e.code < exitFailed {
		return exitFailed
	}
	return e.code
}

func (e ending) reason() string {
	text := "cdfz: " + e.state
	if e.message != "" {
		text += ": " + e.message
	}
	return text
}

// kindOf returns the kind of a failure without a line in the log.
func kindOf(e ending) string {
	switch {
	case e.code == exitUsage:
		return "usage"
	case e.code == exitDamaged:
		return "damaged"
	case e.code < 0 || e.code > 128:
		return "killed"
	}
	return "failed"
}

// maxMessage bounds the standard error that is kept, in bytes.
const maxMessage = 4096

// tail keeps the last maxMessage bytes.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if len(p) > maxMessage {
		p = p[len(p)-maxMessage:]
	}
	t.b = append(t.b, p...)
	if extra := len(t.b) - maxMessage; extra > 0 {
		t.b = append(t.b[:0], t.b[extra:]...)
	}
	return n, nil
}

// start runs a command and waits for it. An error means that it could not be started, or that the
// pipeline was stopped.
func (r *shardRun) start(ctx context.Context, c call) (ending, error) {
	cmd := exec.CommandContext(ctx, r.Program, c.args...)
	// cdfz ends within seconds and leaves nothing half-written; otherwise it is killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stdin = strings.NewReader(strings.Join(c.names, "\x00") + "\x00")
	var messages tail
	cmd.Stdout, cmd.Stderr = c.out, &messages
	if err := tie(cmd); err != nil {
		return ending{}, err
	}
	r.starts++
	err := cmd.Run()
	if ctx.Err() != nil {
		return ending{}, ctx.Err()
	}
	if cmd.ProcessState == nil {
		return ending{}, err
	}
	var exit *exec.ExitError
	// A process that ends before it has read all names is reported by its exit code.
	if err != nil && !errors.As(err, &exit) && cmd.ProcessState.Success() {
		return ending{}, err
	}
	p := cmd.ProcessState
	return ending{p.Pid(), p.ExitCode(), p.String(), string(bytes.TrimSpace(messages.b))}, nil
}
