package filters

import "sync/atomic"

// Observer watches the calls of filters, for statistics. Before each call it is told the
// filter, the label of the coder ([Coder.Labelled]) and the direction. The function that
// it returns is called after the call, on the same goroutine, with the lengths of input
// and output and the error. An optional filter that compresses and did not shorten its input
// failed. Observers are called from several goroutines.
type Observer func(f Filter, label string, decode bool) (done func(in, out int, err error))

var observer atomic.Pointer[Observer]

// Observe sets the observer of all coders of the program. Nil, the default, costs a load
// per call.
func Observe(o Observer) {
	if o == nil {
		observer.Store(nil)
		return
	}
	observer.Store(&o)
}

// Observed reports whether there is an observer. A program may then do without shortcuts
// that avoid calls.
func Observed() bool { return observer.Load() != nil }

// Labelled returns a coder of the same chain that an observer can tell apart, for
// example by the name of a variable.
func (k *Coder) Labelled(label string) *Coder {
	c := *k
	c.label = label
	return &c
}

// begin reports a call of stage i to the observer. done is nil without an observer.
func (k *Coder) begin(i int, decode bool) (done func(in, out int, err error)) {
	if o := observer.Load(); o != nil {
		return (*o)(k.chain[i], k.label, decode)
	}
	return nil
}
