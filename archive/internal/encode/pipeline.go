package encode

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
)

// pipeline encodes jobs on several goroutines and passes them on in order. With inline it
// does both in Submit.
type pipeline struct {
	inline *Encoder
	commit func(*BlockJob) error

	caller  context.Context
	ctx     context.Context // of the caller, cancelled on failure
	cancel  context.CancelCauseFunc
	work    chan *BlockJob
	ordered chan *BlockJob
	group   errgroup.Group // the workers and the committer
}

// StartPipeline starts workers. commit gets each encoded job in the order of Submit.
// Memory is bounded: at most 4 blocks per worker are in the pipeline. memo may be nil;
// with it the image is in memory, so that one worker has no reads to wait for and needs no
// goroutine.
func StartPipeline(ctx context.Context, l *plan.Resolved, workers int, memo *Memo, commit func(*BlockJob) error) *pipeline {
	workers = int(min(int64(workers), l.Blocks))
	if workers == 1 && memo != nil {
		p := &pipeline{caller: ctx, inline: NewEncoder(l), commit: commit}
		p.inline.Memo = memo
		return p
	}
	p := &pipeline{
		work:    make(chan *BlockJob, workers),
		ordered: make(chan *BlockJob, 2*workers),
	}
	p.caller = ctx
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	for range workers {
		p.group.Go(func() error {
			e := NewEncoder(l)
			e.Memo = memo
			for j := range p.work {
				e.encodeNew(j)
				close(j.encoded)
			}
			return nil
		})
	}
	p.group.Go(func() error { return p.commitAll(commit) })
	return p
}

func (p *pipeline) commitAll(commit func(*BlockJob) error) error {
	var failed error
	for j := range p.ordered {
		<-j.encoded
		if failed == nil {
			if failed = j.Err; failed == nil {
				failed = commit(j)
			}
			if failed != nil {
				p.cancel(failed)
			}
		}
		j.free()
	}
	return failed
}

// Submit queues a block.
func (p *pipeline) Submit(j *BlockJob) error {
	if p.inline != nil {
		return p.submitInline(j)
	}
	j.encoded = make(chan struct{})
	select {
	case p.ordered <- j:
	case <-p.ctx.Done():
		return whyDone(p.caller, p.ctx)
	}
	p.work <- j // never blocks for long: workers drain it to the end
	return nil
}

// submitInline encodes a block and passes it on.
func (p *pipeline) submitInline(j *BlockJob) error {
	if err := p.caller.Err(); err != nil {
		return err
	}
	p.inline.encodeNew(j)
	err := j.Err
	if err == nil {
		err = p.commit(j)
	}
	j.free()
	return err
}

// Finish waits for all jobs. cutErr is the error that ended the cutter, or nil.
func (p *pipeline) Finish(cutErr error) error {
	if p.inline != nil {
		return cutErr
	}
	close(p.work)
	close(p.ordered)
	err := p.group.Wait()
	p.cancel(nil)
	if err != nil {
		return err
	}
	return cutErr
}

// whyDone returns the error of the caller's context if it has ended, else the cause of
// work, a derived context that has ended.
func whyDone(caller, work context.Context) error {
	if err := caller.Err(); err != nil {
		return err
	}
	return context.Cause(work)
}
