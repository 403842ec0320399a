package cli

import (
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/kept"
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
	// One works on a file, and reports on the Job. end, if not nil, is called later, in the order of the
	// files and not concurrently.
	One func(ctx context.Context, j *Job) (end func(), err error)
	// Failed is called for an error of One, as end is.
	Failed func(name string, err error)
	// Fixed and PerByte estimate the memory for a file in bytes, and per byte of its size.
	Fixed, PerByte int64
	// Light is set if One reads little of a file: large files and those of unknown size are then worked
	// on side by side, too.
	Light bool
	// Turns is set if One may set Job.Turn.
	Turns bool
}

// defaultBudget is the memory for files that are worked on side by side, unless the user
// limits it.
const defaultBudget = 1 << 30

// Each calls one for every file in turn until the run is stopped, and then failed for lists and prefixes
// that could not be read to their ends. As in Parallel, files are not tried whose targets cannot be written.
func (r *Run) Each(ctx context.Context, files fileio.List, one func(*Job) error, failed func(name string, err error)) {
	for f, ok := r.next(ctx, &files); ok; f, ok = r.next(ctx, &files) {
		err := one(r.Job(f))
		r.bar(f, err)
		if err != nil {
			failed(terminal.ShowName(f.Name), err)
		}
	}
	files.Failures(ctx, failed)
	r.reportBarriers()
}

// next returns the next file that is to be tried. ok is false if there is none, or the run was stopped.
func (r *Run) next(ctx context.Context, files *fileio.List) (f fileio.File, ok bool) {
	for {
		f, ok = files.Next(ctx)
		switch {
		case !ok, r.Term.Stopped(ctx):
			return f, false
		case files.Skip(f):
			continue
		}
		barred, end := r.barred(f, files.Grows())
		if !barred || end {
			return f, !barred
		}
	}
}

// Parallel works on all files, on several at the same time. Reports appear in the order of
// the files. Files with the same target are worked on in turn. No file is begun after the
// run has been stopped. After an error of a target that holds for others, too (see [fileio.Targets.Barrier]), these
// are not begun, and one message counts them.
func (r *Run) Parallel(ctx context.Context, files fileio.List, w Work) {
	defer r.Term.StopProgress()
	jobs := r.Limits.Coders()
	p := &parallel{run: r, files: files, w: w, jobs: int64(jobs), budget: defaultBudget}
	if r.Limits.Memory > 0 {
		p.budget = r.Limits.Memory
	}
	p.places = p.jobs
	if r.Limits.Workers == 0 && r.Limits.Memory == 0 {
		p.places += opening
	}
	// Even one processor has work while files wait for the disk, unless the user wants less.
	if jobs == 1 && (r.Limits.Workers > 0 || r.Limits.Memory > 0) || files.Single() {
		i := 0
		for f, ok := r.next(ctx, &p.files); ok; f, ok = r.next(ctx, &p.files) {
			p.add(i, f)
			k := p.begun(i, f, false)
			p.one(ctx, k)
			p.finish(i, k)
			i++
		}
		p.finishList(ctx)
		return
	}
	p.slots, p.memory = semaphore.NewWeighted(p.places), semaphore.NewWeighted(p.budget)
	p.all = semaphore.NewWeighted(min(p.places+flushing, max(1, (kept.MaxOpen()-openOther-int64(files.OpenFolders()))/openEach)))
	p.idle = make(chan func())
	defer close(p.idle)
	p.sideBySide(ctx)
	p.finishList(ctx)
}

// add adds a file of a list to the progress. Others are in it from the start.
func (p *parallel) add(i int, f fileio.File) {
	if p.files.Grows() {
		p.run.Term.AddFile(i, f.Size)
	}
}

// finishList reports lists and prefixes that could not be read to their ends.
func (p *parallel) finishList(ctx context.Context) {
	p.files.Failures(ctx, p.run.logged(p.w.Failed))
	p.run.reportBarriers()
}

// parallel runs the jobs of a Work side by side.
type parallel struct {
	run    *Run // its terminal is used by one goroutine
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
func (p *parallel) start(f func()) {
	select {
	case p.idle <- f:
	default:
		go func() {
			f()
			for f := range p.idle {
				f()
			}
		}()
	}
}

// sideJob is a file at work.
type sideJob struct {
	*Job
	end     func()
	err     error
	skipped bool          // the user has excluded the file
	untried bool          // its target cannot be written
	done    chan struct{} // closed when it is done
	before  chan struct{} // closed when the turn of the file before it is over; nil for the first one
	turned  chan struct{} // closed when its own is over
}

// begun returns file number i, at work. keep is that of [terminal.Terminal.ForFile].
func (p *parallel) begun(i int, f fileio.File, keep bool) *sideJob {
	j := p.run.Job(f)
	j.Term, j.Limits.Workers = p.run.Term.ForFile(i, keep), int(p.jobs)
	return &sideJob{Job: j, done: make(chan struct{})}
}

// one works on a file.
func (p *parallel) one(ctx context.Context, k *sideJob) {
	k.Entry.Start, k.Entry.Source = time.Now(), terminal.ReportName(k.Name)
	k.end, k.err = p.w.One(ctx, k.Job)
	if k.Turn != nil && k.err == nil {
		if k.written != nil {
			k.written() // it needs no processor while it waits
		}
		k.awaitTurn()
		k.err = k.Turn()
	}
	p.run.bar(k.File, k.err)
	p.run.logEntry(k.Entry, k.err)
}

// awaitTurn returns when the turns of all files before it are over.
func (k *sideJob) awaitTurn() {
	if k.before != nil {
		<-k.before
	}
}

// finish reports a finished job.
func (p *parallel) finish(i int, k *sideJob) {
	p.run.Term.Join(k.Term)
	if k.end != nil {
		k.end()
	}
	if k.err != nil {
		p.w.Failed(terminal.ShowName(k.Name), k.err)
	}
	p.run.Term.EndFile(i)
}

// sideBySide works on all files.
func (p *parallel) sideBySide(ctx context.Context) {
	ordered := make(chan *sideJob, jobsAhead)
	go func() {
		defer close(ordered)
		last := map[string]chan struct{}{} // by target: closed when the last job with it is done
		var turned chan struct{}
		i := 0
		for f, ok := p.files.Next(ctx); ok; f, ok = p.files.Next(ctx) {
			if f.Excluded() {
				ordered <- &sideJob{Job: &Job{File: f}, skipped: true}
				continue
			}
			if p.files.Grows() {
				if barred, end := p.run.barred(f, true); end {
					return
				} else if barred {
					continue
				}
			}
			order := p.run.Targets.Order(f)
			p.add(i, f)
			k := p.begin(ctx, i, f, last[order], turned)
			if k == nil {
				return
			}
			turned = k.turned
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
		if k.skipped {
			p.files.Skip(k.File)
			continue
		}
		<-k.done
		p.finish(i, k)
		i++
	}
	p.run.Term.Stopped(ctx)
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
// has been stopped. before is closed when the previous job with the same target is done, turned when the turn of the job
// before is over.
func (p *parallel) begin(ctx context.Context, i int, f fileio.File, before, turned chan struct{}) *sideJob {
	slots, workers := int64(1), int64(1)
	if !p.w.Light && (f.Size >= alone || f.Size == 0) { // or of unknown size
		slots, workers = p.places, p.jobs
	}
	memory := p.budget
	if p.w.Light || f.Size < alone {
		memory = min(memory, p.w.Fixed+p.w.PerByte*f.Size)
	}
	// Acquire may succeed with a cancelled context.
	if p.all.Acquire(ctx, 1) != nil || p.slots.Acquire(ctx, slots) != nil || p.memory.Acquire(ctx, memory) != nil || ctx.Err() != nil {
		return nil
	}
	free := sync.OnceFunc(func() {
		p.slots.Release(slots)
		p.memory.Release(memory)
	})
	k := p.begun(i, f, true)
	k.Limits.Workers = int(workers)
	if p.w.Turns {
		k.before, k.turned = turned, make(chan struct{})
	}
	if f.Size < alone { // a second large file would take twice the memory
		k.written = free
	}
	p.start(func() {
		defer close(k.done)
		defer p.all.Release(1)
		if k.turned != nil {
			defer func() {
				k.awaitTurn()
				close(k.turned)
			}()
		}
		defer free()
		if before != nil {
			<-before
		}
		if k.untried, _ = p.run.barred(f, p.files.Grows()); !k.untried {
			p.one(ctx, k)
		}
	})
	return k
}
