package catalogue

import (
	"path/filepath"
	"time"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/receiptfile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/statefile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/remote"
)

// proofs tells when archives were proved. Once it was read, it is safe for concurrent use.
type proofs struct {
	states   []*statefile.Proofs
	receipts map[string][]receipt // by the absolute path of the archive
}

// receipt is a proof in a file of receipts.
type receipt struct {
	sha256 string // of the netCDF file
	size   int64  // of the archive
	at     time.Time
}

// read reads states and receipts. name is the file of an error.
func (p *proofs) read(states, files []string) (name string, err error) {
	for _, name := range states {
		s, err := statefile.ReadProofs(name)
		if err != nil {
			return name, err
		}
		p.states = append(p.states, s)
	}
	p.receipts = map[string][]receipt{}
	for _, name := range files {
		if err := receiptfile.Proofs(name, func(r *receiptfile.Receipt, began time.Time) {
			p.receipts[r.Archive] = append(p.receipts[r.Archive], receipt{r.SHA256, r.ArchiveSize, began})
		}); err != nil {
			return name, err
		}
	}
	return "", nil
}

// last returns when an archive was last proved, the zero time if that is unknown.
func (p *proofs) last(run *cli.Run, name string, in *fileio.Input, sha256 string) time.Time {
	var last time.Time
	if len(p.states) == 0 && len(p.receipts) == 0 || name == terminal.StdinName {
		return last
	}
	place, abs := terminal.ReportName(name), ""
	if !remote.IsURL(name) {
		place = run.Targets.Place(name)
		abs, _ = filepath.Abs(name) // without a working folder, only place is looked up
	}
	for _, s := range p.states {
		if at := s.Last(place, name, in, sha256); at.After(last) {
			last = at
		}
	}
	for _, key := range []string{place, abs} {
		for _, r := range p.receipts[key] {
			if r.sha256 == sha256 && r.size == in.Size && r.at.After(last) {
				last = r.at
			}
		}
	}
	return last
}
