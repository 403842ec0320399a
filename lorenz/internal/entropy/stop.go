package entropy

// Stop tells a long piece of work that nobody waits for it any more. Nil, and the zero value, never
// do. It must not be used concurrently.
type Stop struct {
	Done <-chan struct{}
	left int
	done bool
}

// stopEvery is the work between two looks at Done, in units of about a nanosecond.
const stopEvery = 1 << 20

// After reports whether to stop after some more units of work, each of about a nanosecond.
func (s *Stop) After(work int) bool {
	if s == nil || s.Done == nil {
		return false
	}
	if s.left -= work; s.left > 0 {
		return s.done
	}
	s.left = stopEvery
	select {
	case <-s.Done:
		s.done = true
	default:
	}
	return s.done
}

// Reset sets what ends the work that follows.
func (s *Stop) Reset(done <-chan struct{}) { *s = Stop{Done: done} }
