package joined

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/future"
	"github.com/cdfz-format/cdfz/internal/kept"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/slab"
)

// maxMembers is the number of members of all datasets that are kept open, in addition to those being read:
// programs may often have no more than 1024 files open.
const maxMembers = 64

// open has the open members of all datasets.
var open = sync.OnceValue(func() *kept.Pool[memberKey, *member] {
	return kept.New[memberKey, *member](kept.Limits{Idle: int(min(maxMembers, kept.MaxOpen()/8))})
})

type memberKey struct {
	of *members
	n  int
}

// members are the open members of a dataset. It is safe for concurrent use.
type members struct {
	t      *template
	opener Opener
	o      archive.OpenOptions

	shut atomic.Bool // the dataset is closed

	mu     sync.Mutex
	open   map[*member]struct{} // for stats
	closed archive.Stats
}

// member is an open member.
type member struct {
	of    *members
	n     int
	ready *future.Future[struct{}] // once f, vars and close are set
	f     *archive.File
	vars  []int               // the numbers of the first member's variables
	convs map[int]*conversion // by the number in the first member
	close io.Closer

	item *kept.Item[memberKey, *member]
}

// array returns the values of the variable that has number v in the first member.
func (m *member) array(v int) slab.Array {
	a := m.f.Array(m.vars[v])
	if c := m.convs[v]; c != nil {
		return c.array(a)
	}
	return a
}

// acquire opens member n, or returns it if it is open. The caller must release it.
func (s *members) acquire(ctx context.Context, n int) (*member, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, opens := s.use(n)
		if opens {
			err := s.openMember(ctx, m)
			if err != nil {
				open().Forget(m.item) // so that the next user tries again
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
	mine := &member{of: s, n: n, ready: future.New[struct{}]()}
	mine.item = &kept.Item[memberKey, *member]{Key: memberKey{s, n}, Value: mine}
	m = open().Add(mine.item).Value
	if s.shut.Load() {
		open().Forget(m.item) // nobody else would
	}
	return m, m == mine
}

// release ends a use of a member.
func (s *members) release(m *member) { open().Release(m.item) }

// Close implements io.Closer for the pool.
func (m *member) Close() error {
	s := m.of
	s.mu.Lock()
	if _, ok := s.open[m]; ok {
		delete(s.open, m)
		add(&s.closed, m.f.Stats())
	}
	s.mu.Unlock()
	if m.close == nil {
		return nil
	}
	return m.close.Close()
}

// stats returns the cost of reading all members so far.
func (s *members) stats() archive.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.closed
	for m := range s.open {
		add(&sum, m.f.Stats())
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
	m.f = f
	err = checkMember(ctx, s.t.desc.Dim, desc, f)
	if err == nil {
		m.vars, m.convs, err = s.t.compare(desc.shown(), f.Header())
	}
	if err == nil {
		err = s.t.desc.checkLen(desc, s.t.lenOf(f.Header()))
	}
	if err != nil {
		if closer != nil {
			closer.Close()
		}
		return err
	}
	m.close = closer
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[m] = struct{}{}
	return nil
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
