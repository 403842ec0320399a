package cli

// Exit codes. They are part of the program's interface and never change.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitUsage   = 2
	ExitDamaged = 3
	exitSignal  = 128 // plus the number of the signal that ended the program
)

// Numbers of signals, the same in all shells.
const (
	sigint  = 2
	sigpipe = 13
)

// ExitText describes the exit codes in help and manual pages.
const ExitText = `0 success, 1 failure, 2 wrong usage, 3 damaged archive, 130 interrupted.
With several files the highest code wins.`

// SetCode raises the exit code.
func (a *App) SetCode(code int) { a.code = max(a.code, code) }
