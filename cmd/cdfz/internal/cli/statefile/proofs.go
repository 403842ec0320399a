package statefile

import (
	"io"
	"os"
	"time"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// Proofs tells when archives were last proved, from a file of --state. It is safe for concurrent use.
type Proofs struct{ s *State }

// ReadProofs reads a state file, which a run may be writing. Nothing is changed.
func ReadProofs(name string) (*Proofs, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, atomicfile.Cause(err)
	}
	defer f.Close()
	size, err := wholeLines(f)
	if err != nil {
		return nil, err
	}
	p := &Proofs{&State{now: time.Now().UnixNano(), known: map[Key]proved{}}}
	_, err = p.s.read(io.NewSectionReader(f, 0, size))
	return p, err
}

// wholeLines returns the size of a file without a last line that has no end.
func wholeLines(f *os.File) (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	var b [1 << 12]byte
	for end := st.Size(); end > 0; {
		off := max(0, end-int64(len(b)))
		n, err := f.ReadAt(b[:end-off], off)
		if int64(n) < end-off {
			return 0, err
		}
		for i := n - 1; i >= 0; i-- {
			if b[i] == '\n' {
				return off + int64(i) + 1, nil
			}
		}
		end = off
	}
	return 0, nil
}

// Last returns when an archive was last proved, or the zero time if that is unknown or the archive may have
// changed since. archive is its place ([fileio.Targets.Place]) or URL, name the one that it was opened with, and
// sha256 that of the netCDF file that it holds.
func (p *Proofs) Last(archive, name string, in *fileio.Input, sha256 string) time.Time {
	id := IdentityOf(name, in)
	at := p.s.Last(archive, &id)
	if at == 0 || p.s.SHA256(archive) != sha256 {
		return time.Time{}
	}
	return time.Unix(0, at).UTC()
}
