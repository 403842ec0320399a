package encode

import (
	"context"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/internal/pipeline"
)

// Run encodes blocks on several goroutines. cut gives each block to sink, and commit gets them, encoded, in the same
// order. At most 4 blocks per worker are in memory. memo may be nil; with it the image is in memory, so that one
// worker has no reads to wait for and needs no goroutine.
func Run(ctx context.Context, l *plan.Resolved, workers int, memo *Memo, cut func(Sink) error, commit func(*BlockJob) error) error {
	workers = int(min(int64(workers), l.Blocks))
	if workers == 1 && memo != nil {
		workers = 0
	}
	given := hints{}
	return pipeline.Run(ctx, workers, 2*workers, pipeline.Steps[*BlockJob]{
		Make: func(_ context.Context, submit func(*BlockJob) error) error {
			return cut(func(j *BlockJob) error {
				if memo == nil && j.V >= 0 && j.V < len(l.Vars) {
					given.of(j, l.Geoms[j.V].Blocks)
				}
				return submit(j)
			})
		},
		Work: func(ctx context.Context) func(*BlockJob) error {
			e := NewEncoder(ctx, l)
			e.Memo = memo
			return e.Encode
		},
		Pass: commit,
		Free: (*BlockJob).free,
	})
}
