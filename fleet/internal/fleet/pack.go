package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/cdfz-format/cdfz/internal/retry"
)

// addPack adds the shards of pack: cdfz itself divides the files among them, so nothing is listed here.
func (j *Job) addPack(s beam.Scope) (failed, counted beam.PCollection) {
	numbers := beam.ParDo(s.Scope("shards"), &numbersFn{Job: *j}, beam.Impulse(s))
	return beam.ParDo2(s.Scope("run"), &packFn{Job: *j}, beam.Reshuffle(s, numbers))
}

// numbersFn emits the numbers of all shards.
type numbersFn struct{ Job Job }

func (f *numbersFn) ProcessElement(_ context.Context, _ []byte, emit func(int)) error {
	for i := range f.Job.Shards {
		emit(i + 1)
	}
	return nil
}

// packFn packs a shard. A bundle that is retried, or that runs twice at the same time, finds what is packed in the volumes of the
// target, and volumes appear complete or not at all.
type packFn struct{ Job Job }

func (f *packFn) ProcessElement(ctx context.Context, number int, failed func(string, Failure), counted func(string, Summary)) error {
	j := &f.Job
	r := shardRun{Job: j, shard: fmt.Sprintf("%d/%d", number, j.Shards)}
	if err := os.MkdirAll(j.Dir, 0o777); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	var sum Summary
	var end ending
	err := r.policy().Do(ctx, func() (next retry.Next, err error) {
		var out bytes.Buffer
		if end, err = r.start(ctx, call{args: append(j.packArgs(number), folder(j.Source)), out: &out}); err != nil {
			return next, err
		}
		if err := sum.addPacked(out.Bytes()); err != nil {
			return next, err
		}
		// A volume that has appeared under the same name is a lasting error, too, but only of this run: the shard runs twice
		// at the same time.
		next.Again = end.code != 0 && end.code != exitUsage && (end.code != exitLasting || sum.Starts == 1)
		return next, nil
	})
	if err != nil {
		return fmt.Errorf("fleet: shard %s: %w", r.shard, err)
	}
	if end.code != 0 {
		r.failures = append(r.failures, Failure{folder(j.Source) + " --shard " + r.shard, kindOf(end), end.reason(), end.exit()})
	}
	all := r.summary()
	all.Files, all.Volumes, all.ArchiveBytes, all.Unchanged = sum.Files, sum.Volumes, sum.ArchiveBytes, sum.Unchanged
	all.count(ctx)
	for _, fail := range r.failures {
		failed(fail.Source, fail)
	}
	counted(r.shard, all)
	return nil
}

// packArgs returns the arguments of cdfz for a shard, without the folder.
func (j *Job) packArgs(number int) []string {
	args := append([]string{j.Verb, "--json", "--shard", strconv.Itoa(number) + "/" + strconv.Itoa(j.Shards)}, j.Args...)
	return append(args, "-o", folder(j.Target))
}

// addPacked adds what a run of cdfz pack --json reports: each volume that is complete, also if the run was killed later.
// Unchanged is that of the first run: later ones pass over what earlier ones have packed.
func (s *Summary) addPacked(report []byte) error {
	first := s.Starts == 0
	s.Starts++
	for line := range bytes.Lines(report) {
		var l struct {
			Volume  string `json:"volume"`
			Members int64  `json:"members"`
			Size    int64  `json:"size"`
			Summary *struct {
				Unchanged int64 `json:"unchanged"`
			} `json:"summary"`
		}
		if !bytes.HasSuffix(line, []byte{'\n'}) { // of a run that was killed
			break
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("fleet: report of cdfz: %w", err)
		}
		if l.Volume != "" {
			s.Volumes++
			s.Files += l.Members
			s.ArchiveBytes += l.Size
		}
		if l.Summary != nil && first {
			s.Unchanged = l.Summary.Unchanged
		}
	}
	return nil
}
