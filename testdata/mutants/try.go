package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
)

// A mutant may loop for ever, wait for ever or ask for any amount of memory. All count as found. Time is that of the
// processor, so that a busy machine does not find mutants.
const (
	mostSeconds = 10
	mostTime    = 10 * time.Minute
	mostMemory  = 8 << 20 // KiB of address space
)

// tryAll runs the vectors once for each mutant. It returns what found each: the name of a vector or the
// way in which the program ended, "" if nothing did.
func tryAll(ctx context.Context, program string, sites []site) ([]string, error) {
	if by, err := try(ctx, program, -1); err != nil || by != "" {
		return nil, fmt.Errorf("without any mutant, the vectors fail: %s: %w", by, err)
	}
	found := make([]string, len(sites))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range sites {
		g.Go(func() (err error) {
			found[i], err = try(ctx, program, i)
			return err
		})
	}
	return found, g.Wait()
}

// try runs the vectors with one check switched off.
func try(ctx context.Context, program string, check int) (by string, err error) {
	limited, cancel := context.WithTimeout(ctx, mostTime)
	defer cancel()
	cmd := exec.CommandContext(limited, "sh", "-c", fmt.Sprintf("ulimit -v %d && ulimit -t %d && exec %s", mostMemory, mostSeconds, program))
	cmd.Env = append(os.Environ(), fmt.Sprintf("CDFZ_MUTANT=%d", check), "GOMAXPROCS=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return "", nil
	case limited.Err() != nil:
		return "the limit of time", nil
	case !errors.As(err, &exit):
		return "", err
	case exit.ExitCode() != wrongVector:
		return "a crash", nil
	}
	return out.String(), nil
}

// wrongVector is the exit code of the program when a vector has another result than it says.
const wrongVector = 3
