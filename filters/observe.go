package filters

// Observer watches the calls of filters, for statistics. Before each call it is told the
// filter, the label of the coder ([Coder.Observed]) and the direction. The function that
// it returns is called after the call, on the same goroutine, with the lengths of input
// and output and the error. An optional filter that compresses and did not shorten its input
// failed. Observers are called from several goroutines.
type Observer func(f Filter, label string, decode bool) (done func(in, out int, err error))

// Observed returns a coder of the same chain whose calls o watches. The label tells o whose
// blocks they are, such as the name of a variable. A nil o watches nothing.
func (k *Coder) Observed(o Observer, label string) *Coder {
	if o == nil && k.observer == nil {
		return k
	}
	c := *k
	c.observer, c.label = o, label
	return &c
}

// begin reports a call of stage i to the observer. done is nil without an observer.
func (k *Coder) begin(i int, decode bool) (done func(in, out int, err error)) {
	if k.observer == nil {
		return nil
	}
	return k.observer(k.chain[i], k.label, decode)
}
