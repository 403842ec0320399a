package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// lookAgain is the time between two looks at a lock.
const lookAgain = 50 * time.Millisecond

// NoWaitFlag adds --no-wait.
func (r *Run) NoWaitFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.NoWait, "no-wait", false, "do not wait for another run over the same files, but exit with 5;\nalso not for a run with the same log")
}

// Await calls open, which opens and locks the file name, to which the run adds lines. While another
// program has locked the file, Await says so once and calls open again: a scheduler may begin a job a
// second time before the first run of it has ended everywhere. With --no-wait, the error is
// [terminal.ErrBusy] instead. It returns the error of open, which is
// [atomicfile.ErrLocked] if ctx was done before the file was free. If this run has opened the file
// before, under any name, Await returns an error at once.
func (r *Run) Await(ctx context.Context, name string, open func() error) error {
	for said := false; ; said = true {
		err := open()
		switch {
		case err == nil:
			r.adds = append(r.adds, name)
			return nil
		case !errors.Is(err, atomicfile.ErrLocked) || ctx.Err() != nil:
			return err
		case r.addsTo(name):
			return errors.New("expected a file that no other option names")
		case r.NoWait:
			return terminal.ErrBusy
		case !said:
			r.Term.Message("%s: another program is adding to this file; waiting for it", name)
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
