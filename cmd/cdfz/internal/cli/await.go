package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// lookAgain is the time between two looks at a lock.
const lookAgain = 50 * time.Millisecond

// NoWaitText is the text of --no-wait for verbs with a log.
const NoWaitText = "do not wait for another run over the same files, but exit with 5;\nalso not for a run with the same log"

// NoWaitFlag adds --no-wait.
func (r *Run) NoWaitFlag(cmd *cobra.Command, text string) {
	cmd.Flags().BoolVar(&r.NoWait, "no-wait", false, text)
}

// Turn waits until no other run adds to a series of files in the folder of -o, such as volumes with a common prefix, and keeps the
// series for this run until it calls end. A run that has to wait says so, or ends as Await tells. Where there are no locks, in
// folders that cannot be written and in stores, nothing is kept: a run that another one has overtaken finds its target there.
func (r *Run) Turn(ctx context.Context, series string) (end func(), err error) {
	end = func() {}
	if s3.IsURL(r.Dest.Name) {
		return end, nil
	}
	name := terminal.ShowTarget(r.Dest.Name)
	err = r.await(ctx, fmt.Sprintf("%s: another run is adding to this folder; waiting for it", name), nil, func() error {
		h, err := atomicfile.HoldName(filepath.Join(r.Dest.Name, series), &atomicfile.Options{MakeDirs: true})
		switch {
		case errors.Is(err, atomicfile.ErrLocked):
			return err
		case err == nil:
			end = func() { _ = h.Close() }
		}
		return nil
	})
	if err != nil {
		err = inTurn{err}
	}
	return end, err
}

// inTurn is the error of a folder to which another run adds.
type inTurn struct{ error }

func (inTurn) Error() string   { return "another run is adding to this folder" }
func (e inTurn) Unwrap() error { return e.error }

// Await calls open, which opens and locks the file name, to which the run adds lines. While another
// program has locked the file, Await says so once and calls open again: a scheduler may begin a job a
// second time before the first run of it has ended everywhere. With --no-wait, the error is
// [terminal.ErrBusy] instead. It returns the error of open, which is
// [atomicfile.ErrLocked] if ctx was done before the file was free. If this run has opened the file
// before, under any name, Await returns an error at once.
func (r *Run) Await(ctx context.Context, name string, open func() error) error {
	err := r.await(ctx, fmt.Sprintf("%s: another program is adding to this file; waiting for it", name), func() error {
		if r.addsTo(name) {
			return errors.New("expected a file that no other option names")
		}
		return nil
	}, open)
	if err == nil {
		r.adds = append(r.adds, name)
	}
	return err
}

// await is Await with a message, and a check, which may be nil, of what is locked.
func (r *Run) await(ctx context.Context, message string, check, open func() error) error {
	for said := false; ; said = true {
		err := open()
		if !errors.Is(err, atomicfile.ErrLocked) || ctx.Err() != nil {
			return err
		}
		if check != nil {
			if err := check(); err != nil {
				return err
			}
		}
		if r.NoWait {
			return terminal.ErrBusy
		}
		if !said {
			r.Term.Message("%s", message)
		}
		Pause(ctx)
	}
}

// addsTo reports whether Await has opened the file before.
func (r *Run) addsTo(name string) bool {
	st, err := os.Stat(name)
	if err != nil {
		return false
	}
	for _, other := range r.adds {
		if o, err := os.Stat(other); err == nil && os.SameFile(st, o) {
			return true
		}
	}
	return false
}

// Pause waits before another look at a lock.
func Pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(lookAgain):
	}
}
