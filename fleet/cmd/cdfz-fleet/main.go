// Cdfz-fleet archives, verifies or restores many files with a pipeline of Apache Beam, or packs archives into volumes:
//
//	cdfz-fleet archive -source data/ -o archives/ -dir jobs/
//	cdfz-fleet pack -source archives/ -o vol/ -dir jobs/ -shards 8 -- --size 100G
//
// docs/fleet.md describes it. It needs the program cdfz on every worker.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"

	// Not all runners of package beamx: the flags of Dataflow, such as its own -dry_run, would seem to
	// work. Its workers share no folder, so it is of no use here.
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec/optimized"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/flink"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/spark"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"

	"github.com/cdfz-format/cdfz/fleet/internal/fleet"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// The exit codes, as those of cdfz.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitDamaged = 3
	exitLasting = 4
)

var (
	job      fleet.Job
	progress time.Duration
	own      = map[string]bool{} // names of the flags of this program
)

func init() {
	beams := map[string]bool{}
	flag.VisitAll(func(f *flag.Flag) { beams[f.Name] = true })
	defer flag.VisitAll(func(f *flag.Flag) { own[f.Name] = !beams[f.Name] })
	flag.StringVar(&job.Source, "source", ".", "folder, or s3://BUCKET/PREFIX/")
	flag.StringVar(&job.List, "list", "", "file of names below the source; without it, all files are taken")
	flag.BoolVar(&job.Null, "null", false, "names in the list end in a zero byte, as find -print0 writes them")
	flag.StringVar(&job.Target, "o", "", "folder or s3://BUCKET/PREFIX/ of the results")
	flag.StringVar(&job.Dir, "dir", "", "folder that all workers see, for receipts, logs and parts of the catalogue")
	flag.StringVar(&job.Failures, "failures", "", "file for what could not be done (default DIR/failures-RUN.jsonl)")
	flag.IntVar(&job.Shards, "shards", 1000, "number of shards; each that is packed has volumes of its own")
	flag.Int64Var(&job.Large, "large", 1<<30, "a file of so many bytes is a shard of its own")
	flag.BoolVar(&job.Catalogue, "catalogue", false, "make a part of a catalogue for each shard")
	flag.StringVar(&job.Program, "cdfz", "cdfz", "the program cdfz on the workers")
	flag.IntVar(&job.Attempts, "attempts", 4, "how often cdfz is started for a shard if errors may pass")
	flag.DurationVar(&progress, "progress", time.Minute, "pause between two lines of progress on standard error, 0 for none")
	flag.BoolVar(&job.DryRun, "dry_run", false, "archive nothing: count what would be archived, and estimate its size, as cdfz archive --dry-run")
	flag.BoolVar(&job.DryRun, "dry-run", false, "the same as -dry_run")
	flag.DurationVar(&job.Wait, "wait", time.Second, "longest pause before the second attempt, which doubles six times at most")
	flag.Usage = func() {
		fmt.Fprint(os.Stderr, "usage: cdfz-fleet archive|verify|restore|pack [flags] [-- further arguments of cdfz]\n")
		flag.PrintDefaults()
	}
}

func main() {
	// A worker that a runner starts has no verb.
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		job.Verb = os.Args[1]
		os.Args = append(os.Args[:1], os.Args[2:]...)
	}
	flag.Parse()
	if f := workerFlag(); f != "" && job.Verb != "" {
		fmt.Fprintf(os.Stderr, "cdfz-fleet: -%s is for workers, which runners start\n", f)
		os.Exit(exitUsage)
	}
	beam.Init() // does not return in a worker
	job.Args = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx))
}

func run(ctx context.Context) int {
	err := checkFlags(own)
	if err == nil {
		err = prepare()
	}
	if err == nil {
		err = checkArgs(ctx, &job)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cdfz-fleet:", err)
		if errors.Is(err, fleet.ErrJob) {
			return exitUsage
		}
		return exitFailed
	}
	p, s := beam.NewPipelineWithRoot()
	job.Add(s)
	if *runners.Runner == "" {
		*runners.Runner = local
	}
	if progress > 0 && !*jobopts.Async && !job.DryRun {
		watch, stop := context.WithCancel(ctx)
		defer stop()
		start := time.Now()
		go job.Watch(watch, progress, func(p fleet.Progress) {
			fmt.Fprintf(os.Stderr, "cdfz-fleet: %v: %d shards, %d files, %d MB, %d done before, %d failed\n",
				time.Since(start).Round(time.Second), p.Shards, p.Files, p.Bytes/1e6, p.Unchanged, p.Failed)
		})
	}
	if _, err := beam.Run(ctx, *runners.Runner, p); err != nil {
		fmt.Fprintln(os.Stderr, "cdfz-fleet:", err)
		return exitFailed
	}
	if *jobopts.Async { // the job was only submitted
		return 0
	}
	var sum fleet.Summary // of no files, if no worker had anything to do
	text, err := os.ReadFile(job.Summary)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = json.Marshal(sum)
	}
	if err == nil {
		err = json.Unmarshal(text, &sum)
	}
	if err == nil {
		_, err = fmt.Println(strings.TrimSpace(string(text)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cdfz-fleet:", err)
		return exitFailed
	}
	if sum.Failed == 0 {
		return 0
	}
	fmt.Fprintf(os.Stderr, "cdfz-fleet: %d failed, see %s\n", sum.Failed, job.Failures)
	switch {
	case sum.Damaged > 0:
		return exitDamaged
	case sum.Lasting == sum.Failed:
		return exitLasting
	}
	return exitFailed
}

// prepare completes and checks the job.
func prepare() error {
	job.Run = time.Now().UTC().Format("20060102T150405Z") + "-" + rand.Text()[:8]
	if job.Dir != "" {
		job.Summary = filepath.Join(job.Dir, "summary-"+job.Run+".json")
	}
	if job.Failures == "" && job.Dir != "" {
		job.Failures = filepath.Join(job.Dir, "failures-"+job.Run+".jsonl")
	}
	for _, p := range []*string{&job.Source, &job.Target, &job.List, &job.Dir, &job.Failures, &job.Summary} {
		if *p == "" || s3.IsURL(*p) {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return err
		}
		*p = abs
	}
	if err := job.Check(); err != nil {
		return err
	}
	if _, err := os.Lstat(job.Failures); err == nil {
		return fmt.Errorf("%w: %s exists", fleet.ErrJob, job.Failures)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if job.Source != "" && !s3.IsURL(job.Source) {
		if _, err := os.Stat(job.Source); err != nil {
			return err
		}
	}
	// A missing program would fail in every shard.
	if path, err := exec.LookPath(job.Program); err == nil && filepath.Base(job.Program) != job.Program {
		if job.Program, err = filepath.Abs(path); err != nil {
			return err
		}
	} else if err != nil {
		return fmt.Errorf("%w: %w", fleet.ErrJob, err)
	}
	return nil
}
