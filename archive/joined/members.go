package joined

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/future"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/slab"
)

// members are the open members of a dataset. It is safe for concurrent use.
type members struct {
	t      *template
	opener Opener
	o      archive.OpenOptions
	most   int // members kept open without users

	mu     sync.Mutex
	open   map[int]*member
	idle   *list.List // of *member, the least recently used first
	closed archive.Stats
}

// member is an open member.
type member struct {
	n     int
	ready *future.Future[struct{}] // once f, vars and close are set
	f     *archive.File
	vars  []int // the numbers of the first member's variables
	close io.Closer

	users int           // guarded by members.mu
	place *list.Element // in members.idle, nil while there are users
}

// array returns the values of the variable that has number v in the first member.
func (m *member) array(v int) slab.Array { return m.f.Array(m.vars[v]) }

// acquire opens member n, or returns it if it is open. The caller must release it.
//
// Members without users are kept open, up to a number. Those with users are as many as there are
// concurrent reads.
func (s *members) acquire(ctx context.Context, n int) (*member, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, opens := s.use(n)
		if opens {
			err := s.openMember(ctx, m)
			if err != nil {
				s.forget(m)
			}
			m.ready.Set(struct{}{}, err)
		}
		_, err := m.ready.Wait(ctx)
		if err == nil {
			return m, nil
		}
		s.release(m)
		// The one that opened it may have given up, which is no error of others.
		if opens || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
	}
}

// use adds a user to a member. opens is true if the caller must open it.
func (s *members) use(n int) (m *member, opens bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m = s.open[n]
	if m == nil {
		m, opens = &member{n: n, ready: future.New[struct{}]()}, true
		s.open[n] = m
	}
	if m.place != nil {
		s.idle.Remove(m.place)
		m.place = nil
	}
	m.users++
	return m, opens
}

// forget takes a member that did not open from the list, so that the next user tries again.
func (s *members) forget(m *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, m.n)
}

// release ends a use of a member.
func (s *members) release(m *member) {
	s.mu.Lock()
	var old []*member
	if m.users--; m.users == 0 && s.open[m.n] == m {
		m.place = s.idle.PushBack(m)
		old = s.evict(s.most)
	}
	s.mu.Unlock()
	closeAll(old)
}

// evict takes the members from the list that are too many without users, and returns them. The caller
// holds the lock.
func (s *members) evict(most int) (old []*member) {
	for s.idle.Len() > most {
		m := s.idle.Remove(s.idle.Front()).(*member)
		m.place = nil
		delete(s.open, m.n)
		add(&s.closed, m.f.Stats())
		old = append(old, m)
	}
	return old
}

func closeAll(old []*member) error {
	var errs []error
	for _, m := range old {
		if m.close != nil {
			errs = append(errs, m.close.Close())
		}
	}
	return errors.Join(errs...)
}

// stats returns the cost of reading all members so far.
func (s *members) stats() archive.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.closed
	for _, m := range s.open {
		if m.ready.Ready() { // else it is being opened
			if _, err := m.ready.Get(); err == nil {
				add(&sum, m.f.Stats())
			}
		}
	}
	return sum
}

func add(sum *archive.Stats, s archive.Stats) {
	sum.Blocks += s.Blocks
	sum.Hits += s.Hits
	sum.Reads += s.Reads
	sum.Bytes += s.Bytes
	sum.Decode += s.Decode
}

// openMember opens a member and compares it with its description and with the first member.
func (s *members) openMember(ctx context.Context, m *member) error {
	desc := &s.t.desc.Members[m.n]
	f, closer, err := s.opener(ctx, desc.Location, &s.o)
	if err != nil {
		return inMember(desc.Location, err)
	}
	m.f, m.close = f, closer
	err = checkMember(ctx, s.t.desc.Dim, desc, f)
	if err == nil {
		m.vars, err = s.t.compare(desc.shown(), f.Header())
	}
	if n := s.t.lenOf(f.Header()); err == nil && desc.Len >= 0 && n != desc.Len {
		err = s.t.desc.otherLen(desc, n)
	}
	if err != nil && closer != nil {
		closer.Close()
	}
	return err
}

// checkMember compares a file with its description, by the SHA-256 that an archive contains, or else by the
// sample. The error of a file that differs is a *Problem.
func checkMember(ctx context.Context, dim string, desc *Member, f *archive.File) error {
	found := Member{Size: f.Image().Size()}
	if i, ok := f.Info(); ok {
		found.SHA256 = i.SHA256
	}
	if (desc.Size < 0 || found.Size == desc.Size) && desc.Sample != "" && (desc.SHA256 == "" || found.SHA256 == "") {
		pieces, ok := piecesOf(desc.Sample)
		if !ok {
			return fmt.Errorf("joined: member %s: unknown sample %.80q: %w", desc.shown(), desc.Sample, archive.ErrOptions)
		}
		var err error
		if found.Sample, err = sample(ctx, dim, f, pieces); err != nil {
			return inMember(desc.Location, err)
		}
	}
	return desc.differs(&found)
}

// differs compares a file with its description, as far as both are known. The error is a *Problem or nil.
func (m *Member) differs(found *Member) error {
	known := func(want, found string) bool { return want != "" && found != "" && want != found }
	replaced := func(format string, args ...any) error {
		return &Problem{m.shown(), "", "was replaced since it was joined: expected a netCDF file " + fmt.Sprintf(format, args...)}
	}
	switch {
	case m.Size >= 0 && m.Size != found.Size:
		return replaced("of %d bytes, found %d", m.Size, found.Size)
	case known(m.SHA256, found.SHA256):
		return replaced("with SHA-256 %s, found %s", m.SHA256, found.SHA256)
	case known(m.Sample, found.Sample):
		return replaced("with the sample %s of its bytes, found %s", m.Sample, found.Sample)
	}
	return nil
}

// inMember adds the location of a member to an error.
func inMember(location string, err error) error {
	return fmt.Errorf("joined: member %s: %w", urls.Redact(location), err)
}
