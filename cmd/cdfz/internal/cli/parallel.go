package cli

import (
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/runlog"
)

const (
	// alone is the size in bytes from which a file has all processors to itself. Its blocks
	// keep them busy, and the memory for them is that of one file. Smaller files are worked
	// on side by side, each on one processor.
	alone = 8 << 20
	// flushing is the number of files that may wait for the disk at the same time. Many are
	// flushed together in little more time than one.
	flushing = 128
	// opening is the number of small files that are at work in addition to those that keep the
	// processors busy: opening, making and closing files waits for the disk, too.
	opening = 2
	// openEach is the number of files that may be open for one at work: the source and its
	// folder, what was decompressed, the target and, twice, its folder. openOther is that of all
	// others.
	openEach, openOther = 6, 16
)

// Work is what Parallel does for every file.
type Work struct {
	// One works on a file. It has a copy of the Run, on which it reports. end, if not nil, is
	// called later, in the order of the files and not concurrently.
	One func(a *Run, j fileio.File) (end func(), err error)
	// Failed is called for an error of One, as end is.
	Failed func(name string, err error)
	// Fixed and PerByte estimate the memory for a file in bytes, and per byte of its size.
	Fixed, PerByte int64
	// Light is set if One reads little of a file: large files and those of unknown size are then worked
	// on side by side, too.
	Light bool
}

// defaultBudget is the memory for files that are worked on side by side, unless the user
// limits it.
const defaultBudget = 1 << 30

// Each calls one for every file in turn until the run is stopped, and then failed for lists and prefixes
// that could not be read to their ends. As in Parallel, files are not tried whose targets cannot be written.
func (a *Run) Each(ctx context.Context, files fileio.List, one func(fileio.File) error, failed func(name string, err error)) {
	for j := range files.All(ctx) {
		if a.Stopped(ctx) {
			return
		}
		if files.Skip(j) {
			continue
		}
		if a.barred(j, files.Grows()) {
			if files.Grows() {
				break
			}
			continue
		}
		if err := one(j); err != nil {
			a.bar(j, err)
			failed(terminal.ShowName(j.Name), err)
		}
	}
	files.Failures(ctx, failed)
	a.reportBarriers()
}

// Parallel works on all files, on several at the same time. Reports appear in the order of
// the files. Files with the same target are worked on in turn. No file is begun after the
// run has been stopped. After an error of a target that holds for others, too (see [fileio.IO.Barrier]), these
// are not begun, and one message counts them.
func (a *Run) Parallel(ctx context.Context, files fileio.List, w Work) {
	defer a.StopProgress()
	jobs := a.Coders()
	r := &parallel{a: a, base: *a, files: files, w: w, jobs: int64(jobs), budget: defaultBudget}
	if a.Memory > 0 {
		r.budget = a.Memory
	}
	r.places = r.jobs
	if a.Workers == 0 && a.Memory == 0 {
		r.places += opening
	}
	// Even one processor has work while files wait for the disk, unless the user wants less.
	if jobs == 1 && (a.Workers > 0 || a.Memory > 0) || files.Single() {
		i := 0
		for j := range files.All(ctx) {
			if a.Stopped(ctx) {
				return
			}
			if files.Skip(j) {
				continue
			}
			if a.barred(j, files.Grows()) {
				if files.Grows() {
					break
				}
				continue
			}
			r.add(i, j)
			k := &sideJob{name: j.Name, app: r.fork(i, false)}
			r.one(k, j)
			r.finish(i, k)
			i++
		}
		r.finishList(ctx)
		return
	}
	r.slots, r.memory = semaphore.NewWeighted(r.places), semaphore.NewWeighted(r.budget)
	r.all = semaphore.NewWeighted(min(r.places+flushing, max(1, (maxOpen()-openOther-int64(files.OpenFolders()))/openEach)))
	r.idle = make(chan func())
	defer close(r.idle)
	r.run(ctx)
	r.finishList(ctx)
}

// add adds a file of a list to the progress. Others are in it from the start.
func (r *parallel) add(i int, j fileio.File) {
	if r.files.Grows() {
		r.a.AddFile(i, j.Size)
	}
}

// finishList reports lists and prefixes that could not be read to their ends.
func (r *parallel) finishList(ctx context.Context) {
	r.files.Failures(ctx, r.a.logged(r.w.Failed))
	r.a.reportBarriers()
}

// parallel runs the jobs of a Work side by side.
type parallel struct {
	a      *Run // prints; used by one goroutine
	base   Run  // copied for each file
	files  fileio.List
	w      Work
	jobs   int64 // processors
	places int64 // small files at work; a large file takes all
	budget int64
	slots  *semaphore.Weighted // places
	memory *semaphore.Weighted // bytes
	all    *semaphore.Weighted // files at work, with those that wait for the disk
	idle   chan func()         // to goroutines that have nothing to do
}

// start runs f on a goroutine. Those that have finished are used again, since their stacks
// have grown by then, which takes as long as a twentieth of the work for a small file.
func (r *parallel) start(f func()) {
	select {
	case r.idle <- f:
	default:
		go func() {
			f()
			for f := range r.idle {
				f()
			}
		}()
	}
}

// fork copies the Run for the work on file i. keep is that of [terminal.Terminal.Fork].
func (r *parallel) fork(i int, keep bool) Run {
	f := r.base
	f.Terminal, f.Workers = f.Fork(i, keep), int(r.jobs)
	return f
}

// one works on a file.
func (r *parallel) one(k *sideJob, j fileio.File) {
	k.app.Entry = &runlog.Entry{Start: time.Now(), Source: terminal.ReportName(j.Name)}
	k.end, k.err = r.w.One(&k.app, j)
	r.a.bar(j, k.err)
	k.app.logEntry(k.app.Entry, k.err)
}

// sideJob is a file at work.
type sideJob struct {
	skipped *fileio.File // set alone, for a file that the user has excluded
	name    string
	app     Run
	end     func()
	err     error
	untried bool // its target cannot be written
	done    chan struct{}
}

// finish reports a finished job.
func (r *parallel) finish(i int, k *sideJob) {
	r.a.Join(&k.app.Terminal)
	if k.end != nil {
		k.end()
	}
	if k.err != nil {
		r.w.Failed(terminal.ShowName(k.name), k.err)
	}
	r.a.EndFile(i)
}

func (r *parallel) run(ctx context.Context) {
	ordered := make(chan *sideJob, jobsAhead)
	go func() {
		defer close(ordered)
		last := map[string]chan struct{}{} // by target: closed when the last job with it is done
		i := 0
		for j := range r.files.All(ctx) {
			if j.Excluded() {
				ordered <- &sideJob{skipped: &j}
				continue
			}
			if r.files.Grows() && r.a.barred(j, true) {
				return
			}
			order := r.a.Order(j)
			r.add(i, j)
			k := r.begin(ctx, i, j, last[order])
			if k == nil {
				return
			}
			last[order] = k.done
			if len(last) > 2*jobsAhead {
				maps.DeleteFunc(last, func(_ string, done chan struct{}) bool { return isClosed(done) })
			}
			ordered <- k
			i++
		}
	}()
	i := 0
	for k := range ordered {
		if k.skipped != nil {
			r.files.Skip(*k.skipped)
			continue
		}
		<-k.done
		r.finish(i, k)
		i++
	}
	r.a.Stopped(ctx)
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// jobsAhead is the number of finished jobs whose reports may wait for that of an earlier
// one.
const jobsAhead = 1 << 14

// begin starts a job as soon as a place and memory are free. It returns nil if the run
// has been stopped. before is closed when the previous job with the same target is done.
func (r *parallel) begin(ctx context.Context, i int, j fileio.File, before chan struct{}) *sideJob {
	slots, workers := int64(1), int64(1)
	if !r.w.Light && (j.Size >= alone || j.Size == 0) { // or of unknown size
		slots, workers = r.places, r.jobs
	}
	memory := r.budget
	if r.w.Light || j.Size < alone {
		memory = min(memory, r.w.Fixed+r.w.PerByte*j.Size)
	}
	// Acquire may succeed with a cancelled context.
	if r.all.Acquire(ctx, 1) != nil || r.slots.Acquire(ctx, slots) != nil || r.memory.Acquire(ctx, memory) != nil || ctx.Err() != nil {
		return nil
	}
	free := sync.OnceFunc(func() {
		r.slots.Release(slots)
		r.memory.Release(memory)
	})
	k := &sideJob{name: j.Name, app: r.fork(i, true), done: make(chan struct{})}
	k.app.Workers = int(workers)
	if j.Size < alone { // a second large file would take twice the memory
		k.app.Written = free
	}
	r.start(func() {
		defer close(k.done)
		defer r.all.Release(1)
		defer free()
		if before != nil {
			<-before
		}
		if k.untried = r.a.barred(j, r.files.Grows()); !k.untried {
			r.one(k, j)
		}
	})
	return k
}
