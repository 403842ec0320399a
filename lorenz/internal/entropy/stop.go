package entropy

// Stop lets long work check cheaply whether it has been cancelled. Nil and the zero value are never
// cancelled. It must not be used concurrently.
type Stop struct {
	Done <-chan struct{}
	left int
	done bool
}

// stopEvery is the work between two checks of Done, in units of about a nanosecond.
const stopEvery = 1 << 20

// After counts more units of work, each of about a nanosecond, and reports whether to stop.
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

// Reset prepares s for new work, which is cancelled when done is closed.
func (s *Stop) Reset(done <-chan struct{}) { *s = Stop{Done: done} }
