package fleet

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/cdfz-format/cdfz/internal/atomicfile"

	"github.com/cdfz-format/cdfz/internal/runlog"
)

// namespace is that of all metrics.
const namespace = "cdfz"

// The names of metrics. They are for the pages of runners: what the program prints is in Summary.
const (
	nameFiles        = "files"         // done in this run
	nameUnchanged    = "unchanged"     // done before
	nameOther        = "other"         // of another kind, in a folder without a list
	nameBytes        = "bytes"         // of the netCDF files that are done
	nameArchiveBytes = "archive_bytes" // of their archives
	nameStarts       = "starts"        // of cdfz
	nameShards       = "shards"
	nameShardBytes   = "shard_bytes" // a distribution: bytes of the files of a shard
	failuresPrefix   = "failures."   // and the kind
)

var (
	filesDone      = beam.NewCounter(namespace, nameFiles)
	filesUnchanged = beam.NewCounter(namespace, nameUnchanged)
	filesOther     = beam.NewCounter(namespace, nameOther)
	bytesDone      = beam.NewCounter(namespace, nameBytes)
	archiveBytes   = beam.NewCounter(namespace, nameArchiveBytes)
	starts         = beam.NewCounter(namespace, nameStarts)
	shardsDone     = beam.NewCounter(namespace, nameShards)
	shardBytes     = beam.NewDistribution(namespace, nameShardBytes)
)

// Summary is what a pipeline, or a part of it, has done.
type Summary struct {
	Files        int64            `json:"files"`             // done in this run
	Unchanged    int64            `json:"unchanged"`         // done before
	Other        int64            `json:"other"`             // no files for the verb, in a folder without a list
	Failed       int64            `json:"failed"`            // sum of Failures
	Failures     map[string]int64 `json:"failures"`          // by kind
	Damaged      int64            `json:"damaged"`           // failures with exit code 3 of cdfz
	Lasting      int64            `json:"lasting"`           // failures with exit code 4: they will come again
	Planned      int64            `json:"planned"`           // would be done, in a dry run; Bytes and ArchiveBytes are theirs
	Bytes        int64            `json:"bytes"`             // of the netCDF files that are done
	ArchiveBytes int64            `json:"archive_bytes"`     // of their archives, or of volumes
	Volumes      int64            `json:"volumes,omitempty"` // that were packed; Files are their members then
	Ratio        float64          `json:"ratio"`             // 0 without files
	Shards       int64            `json:"shards"`
	Starts       int64            `json:"starts"`        // of cdfz for them
	LargestShard int64            `json:"largest_shard"` // bytes of files
}

// summary returns the sums of a shard.
func (r *shardRun) summary() Summary {
	s := Summary{Failures: map[string]int64{}, Shards: 1, Starts: r.starts, LargestShard: r.size}
	s.Other = r.others
	s.Planned, s.Unchanged, s.Bytes, s.ArchiveBytes = r.plan.Planned, r.plan.Unchanged, r.plan.Size, r.plan.Stored
	for _, e := range r.done {
		switch e.Outcome {
		case runlog.OK:
			s.Files++
			s.Bytes += e.Size
			s.ArchiveBytes += e.ArchiveSize
		case runlog.Unchanged:
			s.Unchanged++
		case runlog.Other:
			s.Other++
		}
	}
	for _, f := range r.failures {
		s.Failures[f.Kind]++
		s.Failed++
		switch f.Exit {
		case exitDamaged:
			s.Damaged++
		case exitLasting:
			s.Lasting++
		}
	}
	return s
}

// add adds the sums of another part.
func (s *Summary) add(t *Summary) {
	s.Files += t.Files
	s.Unchanged += t.Unchanged
	s.Other += t.Other
	s.Failed += t.Failed
	s.Damaged += t.Damaged
	s.Lasting += t.Lasting
	s.Planned += t.Planned
	s.Bytes += t.Bytes
	s.ArchiveBytes += t.ArchiveBytes
	s.Volumes += t.Volumes
	s.Shards += t.Shards
	s.Starts += t.Starts
	s.LargestShard = max(s.LargestShard, t.LargestShard)
	for kind, n := range t.Failures {
		s.Failures[kind] += n
	}
	if s.ArchiveBytes > 0 && s.Bytes > 0 {
		s.Ratio = float64(s.Bytes) / float64(s.ArchiveBytes)
	}
}

// count adds the sums of a shard to the metrics.
func (s *Summary) count(ctx context.Context) {
	filesDone.Inc(ctx, s.Files)
	filesUnchanged.Inc(ctx, s.Unchanged)
	filesOther.Inc(ctx, s.Other)
	bytesDone.Inc(ctx, s.Bytes)
	archiveBytes.Inc(ctx, s.ArchiveBytes)
	starts.Inc(ctx, s.Starts)
	shardsDone.Inc(ctx, s.Shards)
	shardBytes.Update(ctx, s.LargestShard)
	for kind, n := range s.Failures {
		beam.NewCounter(namespace, failuresPrefix+kind).Inc(ctx, n)
	}
}

// firstSummary emits the first sums of a shard.
func firstSummary(_ string, all func(*Summary) bool, emit func(Summary)) {
	var s Summary
	if all(&s) {
		emit(s)
	}
}

// summaryFn writes the sums of all shards into a file.
type summaryFn struct{ Job Job }

func (f *summaryFn) ProcessElement(_ int, all func(*Summary) bool) error {
	sum := Summary{Failures: map[string]int64{}}
	var one Summary
	for all(&one) {
		sum.add(&one)
		one = Summary{}
	}
	text, err := json.Marshal(sum)
	if err != nil {
		return err
	}
	// The name has the run in it. A bundle that is retried writes the same again.
	out, err := atomicfile.Create(f.Job.Summary, &atomicfile.Options{Overwrite: true, MakeDirs: true})
	if err != nil {
		return fmt.Errorf("fleet: summary: %w", err)
	}
	defer out.Close()
	if _, err := out.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("fleet: summary: %w", err)
	}
	if err := out.Commit(); err != nil {
		return fmt.Errorf("fleet: summary: %w", err)
	}
	return nil
}
