package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"

	"github.com/cdfz-format/cdfz/fleet/internal/fleet"
)

// Beam registers its flags for all runners, and a runner ignores those of others. A flag that would be
// ignored is refused: what its name promises would not happen.

// local is the runner that is a part of this program.
const local = "prism"

// beamFlags are the flags of Beam that each runner heeds, as package universal and its job servers read
// them.
var beamFlags = map[string][]string{
	local:       {"beam_strict", "endpoint", "environment_config", "environment_type", "job_name"},
	"flink":     {"async", "beam_strict", "endpoint", "environment_config", "environment_type", "experiments", "job_name", "parallelism", "retain_docker_containers", "worker_binary"},
	"spark":     {"async", "beam_strict", "endpoint", "environment_config", "environment_type", "experiments", "job_name", "retain_docker_containers", "worker_binary"},
	"universal": {"async", "beam_strict", "endpoint", "environment_config", "environment_type", "experiments", "job_name", "parallelism", "retain_docker_containers", "worker_binary"},
}

// owned are the flags of cdfz that this program sets itself or that would leave out files, and why they
// are refused after --.
var owned = map[string]string{
	"--files-from": "the names come from -list or -source", "--null": "the names come from -list or -source",
	"-0": "the names come from -list or -source", "--log": "logs are in -dir", "--receipts": "receipts are in -dir",
	"--output": "-o is a flag of this program", "-o": "-o is a flag of this program", "--shard": "-shards divides the files",
	"--balance": "-shards divides the files", "--json": "the log in -dir has everything", "--dry-run": "-dry_run is a flag of this program",
	"--no-wait": "the sums need the work of other runs over the same files",
	"--help":    "cdfz archive --help prints it", "-h": "cdfz archive --help prints it",
}

// takesValue are the short flags of cdfz with a value, after which no other short flag follows.
const takesValue = "jFp"

// usage returns an error about the command line.
func usage(format string, args ...any) error {
	return fmt.Errorf("%w: %s", fleet.ErrJob, fmt.Sprintf(format, args...))
}

// checkFlags returns an error for a flag that nothing would heed. ours are the flags of this program.
func checkFlags(ours map[string]bool) error {
	if n := len(os.Args) - flag.NArg(); flag.NArg() > 0 && os.Args[n-1] != "--" {
		return usage("unexpected argument %q: -source names the files, and arguments of cdfz stand after --", flag.Arg(0))
	}
	name := *runners.Runner
	if name == "" {
		name = local
	}
	heeded, ok := beamFlags[name]
	if !ok {
		return usage("expected -runner %s, found %q", strings.Join(slices.Sorted(maps.Keys(beamFlags)), ", "), name)
	}
	set := map[string]bool{}
	var err error
	flag.Visit(func(f *flag.Flag) {
		set[f.Name] = true
		if !ours[f.Name] && f.Name != "runner" && !slices.Contains(heeded, f.Name) && err == nil {
			err = usage("runner %s does not heed -%s", name, f.Name)
		}
	})
	loopback := jobopts.IsLoopback()
	switch {
	case err != nil:
		return err
	case job.Verb == "pack" && (set["large"] || set["catalogue"] || set["dry_run"] || set["dry-run"]):
		return usage("-large, -catalogue and -dry_run are not for pack")
	case set["null"] && job.List == "":
		return usage("-null is about the names of -list")
	case job.DryRun && job.Catalogue:
		return usage("a dry run makes no catalogue")
	case name == local:
		if set["environment_config"] && !set["environment_type"] || set["environment_type"] && !set["endpoint"] {
			return usage("runner %s starts its workers in this program: -environment_type and -environment_config need -endpoint", name)
		}
		return nil
	case !set["endpoint"]:
		return usage("runner %s needs -endpoint, the address of its job server", name)
	case loopback && *jobopts.Async:
		return usage("-async: the workers of -environment_type LOOPBACK end with this program")
	case loopback || *jobopts.WorkerBinary != "":
		return nil
	case runtime.GOOS != "linux":
		return usage("runner %s needs -worker_binary, this program for the computers of the workers", name)
	}
	// Otherwise Beam would compile this program anew, which takes Go and its sources.
	*jobopts.WorkerBinary, err = os.Executable()
	return err
}

// workerFlag returns a flag that only runners set, if it is set.
func workerFlag() (found string) {
	flag.Visit(func(f *flag.Flag) {
		if slices.Contains([]string{"worker", "id", "logging_endpoint", "control_endpoint", "semi_persist_dir", "options"}, f.Name) {
			found = f.Name
		}
	})
	return found
}

// checkArgs returns an error for arguments of cdfz that it would refuse in every shard, or that this
// program sets itself.
func checkArgs(ctx context.Context, j *fleet.Job) error {
	for _, arg := range j.Args {
		name, _, _ := strings.Cut(arg, "=")
		if arg == "--" {
			return usage("after --, expected options of cdfz, found another --")
		}
		if why, ok := owned[name]; ok && strings.HasPrefix(name, "--") {
			return usage("%s: %s", name, why)
		}
		if !strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "--") {
			continue
		}
		for _, c := range arg[1:] {
			if why, ok := owned["-"+string(c)]; ok {
				return usage("-%c: %s", c, why)
			}
			if strings.ContainsRune(takesValue, c) {
				break
			}
		}
	}
	// cdfz checks its command line before it reads the list, which is empty here.
	empty, err := os.MkdirTemp("", "cdfz-fleet")
	if err != nil {
		return err
	}
	defer os.Remove(empty)
	cmd := exec.CommandContext(ctx, j.Program, j.Probe(empty)...)
	var msg bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(""), &msg
	if err := cmd.Run(); cmd.ProcessState == nil {
		return err
	}
	if cmd.ProcessState.ExitCode() == exitUsage {
		return usage("%s", strings.TrimPrefix(strings.TrimSpace(msg.String()), "cdfz: "))
	}
	return nil
}
