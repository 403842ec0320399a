// Package fleet runs cdfz over many files as a pipeline of Apache Beam:
//
//	list -> shards -> cdfz archive, verify or restore -> receipts, catalogue, failures
//	shards -> cdfz pack -> volumes, failures
//
// A shard is a set of files, and the unit of work: a worker starts the program cdfz once for it, and
// again if it was killed or could not read or write. Small files are in a shard by their names, each
// large one is a shard of its own. The shard of a file does not depend on other files. So a bundle
// that is retried, that runs twice at the same time, or that belongs to another pipeline over the same
// list works on the same files with the same file of receipts, and cdfz passes over what is done.
//
// All workers must see the same folders at the same paths, or use an object store.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/cdfz-format/cdfz/internal/s3"
)

// ErrJob is wrapped by all errors of Job.Check about its fields.
var ErrJob = errors.New("unusable job")

// Job is the work of a pipeline. It is sent to the workers as JSON.
type Job struct {
	// Verb is "archive", "verify", "restore" or "pack".
	Verb string
	// Source is a folder or a prefix of an object store, s3://BUCKET/PREFIX/. Without List, all files
	// below it are taken: those that end in .cdfz to verify and to restore, and all others to archive.
	Source string
	// List, if not "", is a file of names below Source, each with a newline or, if Null is set, a zero
	// byte after it.
	List string
	Null bool
	// Target is the folder or the prefix of the results. Verify has none.
	Target string
	// Dir is a local folder that all workers see, for receipts, logs and parts of the catalogue.
	Dir string
	// Failures is the file that the files which could not be done are listed in. It appears at the end, if
	// there are any.
	Failures string
	// Summary is the file that the sums of the pipeline are written into at the end, as JSON of Summary.
	Summary string
	// Run is any text that no other pipeline has.
	Run string
	// Shards is the number of shards for files below Large bytes. A folder Dir is for one number of shards, which that of
	// pack need not be.
	Shards int
	Large  int64
	// Catalogue makes a part of a catalogue for each shard of archives.
	Catalogue bool
	// DryRun archives nothing. Only the sums and the failures are written.
	DryRun bool
	// Program is the path of cdfz, and Args are further arguments for Verb.
	Program string
	Args    []string
	// Attempts is how often cdfz is started for a shard at most, and Wait the longest pause before the second
	// start, which doubles six times at most.
	Attempts int
	Wait     time.Duration
}

// maxShards bounds Job.Shards: numbers of shards have up to five digits in the names of files.
const maxShards = 99999

// maxPack is the same for pack: cdfz takes no more.
const maxPack = 1 << 16

// Check returns an error that wraps ErrJob if the job cannot be run, or an error of the file system.
// It also returns an error if Dir was used with another number of shards.
func (j *Job) Check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrJob, fmt.Sprintf(format, args...))
	}
	switch {
	case j.Verb != "archive" && j.Verb != "verify" && j.Verb != "restore" && j.Verb != "pack":
		return bad("expected verb archive, verify, restore or pack, found %q", j.Verb)
	case j.Verb == "pack" && s3.IsURL(j.Source):
		return bad("pack needs a folder, found %q", j.Source)
	case j.Verb == "pack" && j.List != "":
		return bad("pack takes no list: it packs all that is below the source")
	case j.Verb == "pack" && j.Shards > maxPack:
		return bad("expected 1 to %d shards to pack, found %d", maxPack, j.Shards)
	case j.Source == "":
		return bad("no source")
	case s3.IsURL(j.Source) && !s3.IsPrefix(j.Source):
		return bad("expected a source s3://BUCKET/PREFIX/ with a slash at the end, found %q", j.Source)
	case j.Verb != "verify" && j.Target == "":
		return bad("%s needs a target", j.Verb)
	case j.Verb == "verify" && j.Target != "":
		return bad("verify has no target, found %q", j.Target)
	case s3.IsURL(j.Target) && !s3.IsPrefix(j.Target):
		return bad("expected a target s3://BUCKET/PREFIX/ with a slash at the end, found %q", j.Target)
	case j.Catalogue && j.Verb != "archive":
		return bad("only archive makes a catalogue")
	case j.DryRun && j.Verb != "archive":
		return bad("%s has no dry run", j.Verb)
	case j.Dir == "" || j.Failures == "" || j.Summary == "" || j.Run == "" || j.Program == "":
		return bad("Dir, Failures, Summary, Run and Program must be set")
	case j.Shards < 1 || j.Shards > maxShards:
		return bad("expected 1 to %d shards, found %d", maxShards, j.Shards)
	case j.Large < 1:
		return bad("expected a size of large files from 1 byte, found %d", j.Large)
	case j.Attempts < 1 || j.Wait < 0:
		return bad("expected at least one attempt and no negative pause, found %d and %v", j.Attempts, j.Wait)
	}
	for _, p := range []string{j.Source, j.Target, j.List, j.Dir, j.Failures, j.Summary} {
		if p != "" && !s3.IsURL(p) && !filepath.IsAbs(p) {
			return bad("expected an absolute path, since workers may have other folders, found %q", p)
		}
	}
	if j.Verb == "pack" {
		return nil
	}
	return j.checkDir()
}

// checkDir compares the number of shards with that of earlier runs: with another one, a file would
// have a receipt in two files.
func (j *Job) checkDir() error {
	names, err := filepath.Glob(filepath.Join(escape(j.Dir), "?????-of-?????.*"))
	if err != nil {
		return err
	}
	want := fmt.Sprintf("-of-%05d.", j.Shards)
	for _, n := range names {
		if !strings.Contains(filepath.Base(n), want) {
			return fmt.Errorf("%w: %s is of a run with another number of shards, expected %d: use that number, or another folder", ErrJob, n, j.Shards)
		}
	}
	return nil
}

// escape quotes what filepath.Glob reads as a pattern.
func escape(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

// Add adds the job to a pipeline. The job must have passed Check.
func (j *Job) Add(s beam.Scope) {
	s = s.Scope("cdfz." + j.Verb)
	run := j.addRun
	if j.Verb == "pack" {
		run = j.addPack
	}
	failed, counted := run(s)
	// A bundle that was retried may have reported a file or a shard twice.
	unique := beam.ParDo(s.Scope("failures"), firstFailure, beam.GroupByKey(s, failed))
	beam.ParDo0(s.Scope("failures"), &failuresFn{Job: *j}, beam.GroupByKey(s, beam.AddFixedKey(s, unique)))
	counts := beam.ParDo(s.Scope("summary"), firstSummary, beam.GroupByKey(s, counted))
	beam.ParDo0(s.Scope("summary"), &summaryFn{Job: *j}, beam.GroupByKey(s, beam.AddFixedKey(s, counts)))
}

// addRun adds the shards of files that are listed.
func (j *Job) addRun(s beam.Scope) (failed, counted beam.PCollection) {
	listed := beam.ParDo(s.Scope("list"), &listFn{Job: *j}, beam.Impulse(s))
	// Workers look at the files, not the one that reads the list.
	assigned := beam.ParDo(s.Scope("shards"), &assignFn{Job: *j}, beam.Reshuffle(s, listed))
	shards := beam.GroupByKey(s, assigned)
	return beam.ParDo2(s.Scope("run"), &runFn{Job: *j}, shards)
}

func init() {
	beam.RegisterType(reflect.TypeFor[Item]())
	beam.RegisterType(reflect.TypeFor[Failure]())
	beam.RegisterType(reflect.TypeFor[Summary]())
	register.DoFn3x1[context.Context, []byte, func(Item), error](&listFn{})
	register.DoFn3x1[context.Context, Item, func(string, Item), error](&assignFn{})
	register.DoFn5x1[context.Context, string, func(*Item) bool, func(string, Failure), func(string, Summary), error](&runFn{})
	register.DoFn3x1[context.Context, []byte, func(int), error](&numbersFn{})
	register.DoFn4x1[context.Context, int, func(string, Failure), func(string, Summary), error](&packFn{})
	register.DoFn2x1[int, func(*Failure) bool, error](&failuresFn{})
	register.DoFn2x1[int, func(*Summary) bool, error](&summaryFn{})
	register.Function3x0(firstFailure)
	register.Function3x0(firstSummary)
	register.Emitter1[int]()
	register.Emitter1[Item]()
	register.Emitter1[Failure]()
	register.Emitter1[Summary]()
	register.Emitter2[string, Item]()
	register.Emitter2[string, Failure]()
	register.Emitter2[string, Summary]()
	register.Iter1[Item]()
	register.Iter1[Failure]()
	register.Iter1[Summary]()
}
