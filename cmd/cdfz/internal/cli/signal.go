package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// CatchStop makes signals cancel the context of the program. Before that, they end the
// program in the system's default way. Catching signals takes a tenth of the time of
// reading a value, so CatchStop is only called before something needs cleaning up, or
// after a delay.
var CatchStop = func() {}

const catchDelay = 10 * time.Millisecond

// stopGrace is the time in nanoseconds that a cancelled run has to clean up before the
// program ends. In any case, targets appear complete or not at all.
var stopGrace atomic.Int64

func init() { AllowTime(300 * time.Millisecond) }

// AllowTime sets the time that a cancelled run has to clean up.
func AllowTime(d time.Duration) { stopGrace.Store(int64(d)) }

// signalError is the cause of a context cancelled by a signal.
type signalError struct {
	number int
	name   string
}

func (e *signalError) Error() string { return e.name }

// Context returns the context of the program. After CatchStop, signals cancel it.
func Context() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	CatchStop = sync.OnceFunc(func() { catch(cancel) })
	time.AfterFunc(catchDelay, CatchStop)
	ignorePipe()
	return ctx
}

func catch(cancel context.CancelCauseFunc) {
	// Signals that were ignored at the start, as under nohup, stay ignored.
	signals := slices.DeleteFunc(slices.Clone(stopSignals), signal.Ignored)
	if len(signals) == 0 { // no signals would mean all
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
		signal.Stop(c) // a second signal ends the program in the default way
		time.Sleep(time.Duration(stopGrace.Load()))
		os.Stderr.WriteString("cdfz: interrupted\n")
		os.Exit(exitSignal + e.number)
	}()
}
