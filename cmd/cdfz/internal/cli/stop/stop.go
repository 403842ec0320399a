// Package stop ends the program when a signal asks for it: it cancels the context of the program and
// gives it some time to clean up.
package stop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ExitSignal plus the number of a signal is the exit code of a program that the signal ended.
const ExitSignal = 128

// Numbers of signals, the same in all shells.
const (
	Interrupt = 2
	Pipe      = 13
	terminate = 15
)

// exitUsage is terminal.ExitUsage.
const exitUsage = 2

// Catch makes signals cancel the context of the program. Before that, they end the
// program in the system's default way. Catching signals takes a tenth of the time of
// reading a value, so Catch is only called before something needs cleaning up, or
// after a delay.
var Catch = func() {}

const catchDelay = 10 * time.Millisecond

// grace is the time in nanoseconds that a cancelled run has to clean up before the
// program ends. In any case, targets appear complete or not at all.
var grace atomic.Int64

func init() { AllowTime(300 * time.Millisecond) }

// AllowTime sets the time that a cancelled run has to clean up.
func AllowTime(d time.Duration) { grace.Store(int64(d)) }

// holds is how many callers of Hold are not done.
var holds atomic.Int64

// longestHold is how long a cancelled run may wait for them.
const longestHold = 10 * time.Second

// Hold lets a cancelled run wait, for at most 10 seconds, until release is called: something is left in a distant place otherwise, such
// as the parts of an upload.
func Hold() (release func()) {
	holds.Add(1)
	return sync.OnceFunc(func() { holds.Add(-1) })
}

// signalError is the cause of a context cancelled by a signal.
type signalError struct {
	number int
	name   string
}

func (e *signalError) Error() string { return e.name }

// ExitCode returns the exit code of a program whose context was cancelled.
func ExitCode(ctx context.Context) int {
	var s *signalError
	if errors.As(context.Cause(ctx), &s) {
		return ExitSignal + s.number
	}
	return ExitSignal + Interrupt
}

// Context returns the context of the program. After Catch, signals cancel it.
func Context() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	watch(cancel)
	Catch = sync.OnceFunc(func() { catch(cancel) })
	time.AfterFunc(catchDelay, Catch)
	ignorePipe()
	return ctx
}

// taken is true after Take.
var taken atomic.Bool

// Take returns a channel with the signals of the program, and with others that other programs send
// to one another. From now on, they neither end the program nor cancel its context.
func Take() <-chan os.Signal {
	taken.Store(true)
	c := make(chan os.Signal, 16)
	notify(c, slices.Concat(signals, passed))
	return c
}

// notify relays signals. Those that were ignored at the start, as under nohup, stay ignored.
func notify(c chan os.Signal, wanted []os.Signal) bool {
	caught := slices.DeleteFunc(slices.Clone(wanted), signal.Ignored)
	if len(caught) == 0 { // no signals would mean all
		return false
	}
	signal.Notify(c, caught...)
	return true
}

func catch(cancel context.CancelCauseFunc) {
	c := make(chan os.Signal, 1)
	if taken.Load() || !notify(c, signals) {
		return
	}
	go func() {
		s := <-c
		if taken.Load() {
			signal.Stop(c)
			return
		}
		e := &signalError{Interrupt, s.String()}
		if n, ok := s.(syscall.Signal); ok {
			e.number = int(n)
		}
		signal.Stop(c) // a second signal ends the program in the default way
		end(cancel, e)
	}()
}

// end cancels the context of the program, and ends the program if it is still there later.
func end(cancel context.CancelCauseFunc, e *signalError) {
	cancel(e)
	time.Sleep(time.Duration(grace.Load()))
	const step = 10 * time.Millisecond
	for end := time.Now().Add(longestHold); holds.Load() > 0 && time.Now().Before(end); {
		time.Sleep(step)
	}
	os.Stderr.WriteString("cdfz: interrupted\n")
	os.Exit(ExitSignal + e.number)
}

// Lifeline is the environment variable with the number of a descriptor, that of a pipe or a socket which
// the program has inherited. When its other end is closed, the program ends as SIGTERM ends it. So a
// program that starts cdfz can be killed, and no cdfz of it goes on.
const Lifeline = "CDFZ_LIFELINE"

// watch ends the program when the other end of the lifeline is closed, if there is one.
func watch(cancel context.CancelCauseFunc) {
	text := os.Getenv(Lifeline)
	if text == "" {
		return
	}
	_ = os.Unsetenv(Lifeline) // programs that cdfz starts do not inherit the descriptor
	f, err := inherited(text)
	if err != nil {
		fmt.Fprintf(os.Stderr, "cdfz: %s=%s: %v\n", Lifeline, text, err)
		os.Exit(exitUsage)
	}
	go func() {
		_, _ = io.Copy(io.Discard, f)
		end(cancel, &signalError{terminate, "the program that started cdfz has ended"})
	}()
}
