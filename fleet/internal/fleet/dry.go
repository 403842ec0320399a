package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// plan is the last line of cdfz archive --dry-run --json.
type plan struct {
	Planned   int64 `json:"planned_files"`
	Unchanged int64 `json:"unchanged"`
	Size      int64 `json:"size"`                   // of the planned files, in bytes
	Stored    int64 `json:"estimated_archive_size"` // in bytes
}

// notClassic begins the reports of cdfz about files of another kind.
const notClassic = "not a classic netCDF file"

// dry runs a command of a dry run. What is killed is not tried again: nothing is lost by asking once more.
func (r *shardRun) dry(ctx context.Context, c call) error {
	var out bytes.Buffer
	c.out = &out
	end, err := r.start(ctx, c)
	if err != nil {
		return err
	}
	complete := false
	for line := range bytes.Lines(out.Bytes()) {
		var l struct {
			File    string `json:"file"`
			Error   string `json:"error"`
			Exit    int    `json:"exit"`
			Summary *plan  `json:"summary"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("fleet: report of cdfz: %w", err)
		}
		switch {
		case l.Summary != nil:
			complete = true
			r.plan.add(l.Summary)
		case r.List == "" && strings.HasPrefix(l.Error, notClassic):
			r.others++ // a folder may hold other files
		case l.Error != "":
			r.failures = append(r.failures, Failure{l.File, kindOf(ending{code: l.Exit}), l.Error, l.Exit})
		}
	}
	if !complete {
		r.failures = append(r.failures, r.missing(c, r.failures, end)...)
	}
	return nil
}

func (p *plan) add(q *plan) {
	p.Planned += q.Planned
	p.Unchanged += q.Unchanged
	p.Size += q.Size
	p.Stored += q.Stored
}
