package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// CatchStop makes signals cancel the context of the program. Without it they end the
// program in the system's way. Catching takes a tenth of the time of reading a value,
// so it is only called before something needs clearing up, or after a delay.
var CatchStop = func() {}

const catchDelay = 10 * time.Millisecond

// stopGrace is how long a cancelled run may take to clear up. Then the program ends:
// targets appear complete or not at all, whatever ends it.
const stopGrace = 300 * time.Millisecond

// signalError is the cause of a context that a signal cancelled.
type signalError struct {
	number int
	name   string
}

func (e *signalError) Error() string { return e.name }

// Context is the context of the program: CatchStop has signals cancel it.
func Context() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	CatchStop = sync.OnceFunc(func() { catch(cancel) })
	time.AfterFunc(catchDelay, CatchStop)
	ignorePipe()
	return ctx
}

func catch(cancel context.CancelCauseFunc) {
	// Signals ignored from the start, as under nohup, stay ignored.
	signals := slices.DeleteFunc(slices.Clone(stopSignals), signal.Ignored)
	if len(signals) == 0 { // none would mean all
		return
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, signals...)
	go func() {
		s := <-c
		e := &signalError{sigint, s.String()}
		if n, ok := s.(syscall.Signal); ok {
			e.number = int(n)
		}
		cancel(e)
		signal.Stop(c) // a second signal ends the program in the system's way
		time.Sleep(stopGrace)
		os.Stderr.WriteString("cdfz: interrupted\n")
		os.Exit(exitSignal + e.number)
	}()
}
