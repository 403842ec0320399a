package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/time/rate"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/statefile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/remote"
)

// scrub is what verify needs to read a large store again and again: what was proved when, which archives
// are due, and how fast they are read.
type scrub struct {
	stateName string
	state     *statefile.State // nil for none
	older     time.Duration
	sample    float64 // share of the bytes, 0 for all
	rate      int64   // bytes a second, 0 for no limit
	limiter   *rate.Limiter
	limit     int64 // what was proved later is passed over; nanoseconds since 1970
	accept    bool  // --accept-changes
	movedFrom string
	passed    int64 // archives that are not due
	lost      int64 // files that the state has and that are gone
	hinted    bool  // the run has told how to accept changes

	mu       sync.Mutex
	passedBy map[statefile.Key]bool // files of the state that are there and that the run does not read
}

// addFlags adds the flags.
func (s *scrub) addFlags(cmd *cobra.Command) {
	cli.Flags(cmd, "Scrubbing", func(f *pflag.FlagSet) {
		f.StringVar(&s.stateName, "state", "", "note in `FILE` when each archive was proved; begin with the oldest")
		f.BoolVar(&s.accept, "accept-changes", false, "accept that archives are gone or hold other files;\nwithout it, they are errors (needs --state)")
		f.StringVar(&s.movedFrom, "moved-from", "", "what was below `DIR`, a folder or URL, is below the only FILE now;\nneeds --state")
		f.Var((*ageFlag)(&s.older), "older-than", "pass over archives proved less than `AGE` ago, as in 90d or 12h;\nneeds --state")
		f.Var(&cli.SizeFlag{N: &s.rate, Min: 1 << 10, Max: math.MaxInt64 / 2}, "rate", "read at most this many bytes a second, as in 50M")
		f.Var((*shareFlag)(&s.sample), "sample", "check `P%` of the bytes,\nwith --state the archives that were proved longest ago, or else random ones")
	})
}

// open opens the state, after another run that adds to it has ended.
func (s *scrub) open(ctx context.Context, run *cli.Run, args []string) error {
	if s.rate > 0 {
		s.limiter = rate.NewLimiter(rate.Limit(s.rate), int(min(s.rate, burst)))
	}
	if s.stateName == "" {
		return nil
	}
	s.passedBy = map[statefile.Key]bool{}
	s.limit = time.Now().Add(-s.older).UnixNano()
	var where []string
	for _, arg := range args {
		if arg != terminal.StdinName {
			where = append(where, placeOf(run, arg))
		}
	}
	if run.Select.From != "" && len(args) == 0 {
		where = append(where, placeOf(run, "."))
	}
	var moves []statefile.Move
	if s.movedFrom != "" {
		moves = append(moves, statefile.Move{From: placeOf(run, s.movedFrom), To: where[0]})
	}
	return run.Await(ctx, s.stateName, func() (err error) {
		s.state, err = statefile.Open(s.stateName, where, moves...)
		return err
	})
}

// placeOf returns the absolute path of a file or folder without symbolic links to folders, or a URL without
// secrets.
func placeOf(run *cli.Run, name string) string {
	switch {
	case remote.IsURL(name):
		return terminal.ReportName(name)
	case isDir(name):
		return filepath.Dir(run.Targets.Place(name + string(filepath.Separator) + "x"))
	}
	return run.Targets.Place(filepath.Clean(name))
}

func isDir(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.IsDir()
}

// check checks the flags.
func (s *scrub) check(args []string) error {
	switch {
	case s.accept && s.stateName == "":
		return errors.New("--accept-changes: expected --state FILE too")
	case s.movedFrom != "" && s.stateName == "":
		return errors.New("--moved-from: expected --state FILE too")
	case s.movedFrom != "" && (len(args) != 1 || !isDir(args[0]) && !s3.IsPrefix(args[0])):
		return errors.New("--moved-from: expected one FILE, the folder or the prefix where DIR is now")
	case s.older > 0 && s.stateName == "":
		return errors.New("--older-than: expected --state FILE too")
	case s.stateName == terminal.StdinName:
		return errors.New("--state: expected the name of a file, found -")
	}
	return nil
}

// close closes the state.
func (s *scrub) close() error {
	if s.state == nil {
		return nil
	}
	return s.state.Close()
}

// chooses reports whether not all archives are checked in the order of the command line.
func (s *scrub) chooses() bool { return s.state != nil || s.sample > 0 }

// nameInState returns the name of an archive in the state.
func (v *verifier) nameInState(name string) string {
	if remote.IsURL(name) {
		return terminal.ReportName(name)
	}
	return v.scrub.state.Named(v.run.Targets.Place(name))
}

// keepsState reports whether the state has an archive. Standard input has no name.
func (v *verifier) keepsState(name string) bool {
	return v.scrub.state != nil && name != terminal.StdinName
}

// due keeps the archives of a run that are due, in the order in which they are checked.
func (v *verifier) due(files *fileio.List) {
	type dated struct {
		fileio.File
		last int64
	}
	total := int64(0)
	var list []dated
	for _, j := range files.Files {
		d := dated{File: j}
		total += j.Size
		if v.keepsState(j.Name) {
			name, id := v.nameInState(j.Name), statefile.ListedIdentity(&j)
			if d.last = v.scrub.state.Last(name, &id); d.last == 0 && id.OpensFirst() {
				d.last = v.scrub.state.Claim(name)
			} else if v.recent(d.last) {
				v.scrub.passed++
				passOver(&v.run.Term.Printer, &j, d.last)
				continue
			}
		}
		list = append(list, d)
	}
	if v.scrub.sample > 0 {
		rand.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
	}
	slices.SortStableFunc(list, func(a, b dated) int { return cmp.Compare(a.last, b.last) })
	want := int64(v.scrub.sample * float64(total))
	files.Files = files.Files[:0]
	for sum := int64(0); len(list) > 0 && (v.scrub.sample == 0 || sum < want || len(files.Files) == 0); list = list[1:] {
		files.Files = append(files.Files, list[0].File)
		sum += list[0].Size
	}
}

// recent reports whether an archive that was proved at a time, in nanoseconds since 1970, is not due. One that
// was not proved, at 0, is due, although the limit can be before 1970.
func (v *verifier) recent(at int64) bool { return v.scrub.older > 0 && at > max(0, v.scrub.limit) }

// passesOver reports whether a file that is open now was proved before and is not due, and says so.
func (v *verifier) passesOver(j *cli.Job, in *fileio.Input) bool {
	if !v.keepsState(j.Name) || v.scrub.older == 0 {
		return false
	}
	if id := statefile.ListedIdentity(&j.File); !id.OpensFirst() {
		return false
	}
	id := statefile.IdentityOf(j.Name, in)
	at := v.scrub.state.Last(v.nameInState(j.Name), &id)
	if !v.recent(at) {
		return false
	}
	passOver(j.Term, &j.File, at)
	return true
}

// passOver reports a file that is not due.
func passOver(p *terminal.Printer, f *fileio.File, last int64) {
	reason := "proved on " + time.Unix(0, last).UTC().Format(time.RFC3339)
	switch {
	case p.JSON:
		p.Emit(fileio.Skipped{File: terminal.ReportName(f.Name), Reason: reason})
	case p.Verbose:
		p.Report("%s: skipped: %s", terminal.ShowName(f.Name), reason)
	}
}

// note notes in the state that an archive was proved. It is an error if the archive has to hold another
// netCDF file, unless the user accepts that: then before is the SHA-256 of that file.
func (v *verifier) note(j *cli.Job, in *fileio.Input, sha256 string, start time.Time) (before string, err error) {
	if !v.keepsState(j.Name) {
		return "", nil
	}
	name := v.nameInState(j.Name)
	if want := v.scrub.state.SHA256(name); want != "" && want != sha256 {
		if !v.scrub.accept {
			return "", fmt.Errorf("%w: expected SHA-256 %s, as it was proved before, found %s", errOther, want, sha256)
		}
		before = want
	}
	id, ok := statefile.NotedIdentity(&j.File, in)
	if !ok || in.Changed() != nil {
		return "", nil
	}
	v.scrub.state.Add(name, &id, sha256, start)
	return before, nil
}

// burst is how many bytes --rate lets through at once.
const burst = 1 << 20

// slow limits the rate at which an input is read. The rate is that of all inputs together.
func (s *scrub) slow(ctx context.Context, in *fileio.Input) {
	if s.limiter == nil {
		return
	}
	r := ioat.Of(in.R)
	in.R = r.With(func(of context.Context, p []byte, off int64) (int, error) {
		for left := len(p); left > 0; {
			n := min(left, s.limiter.Burst())
			if err := s.limiter.WaitN(ctx, n); err != nil {
				if ctx.Err() != nil {
					err = ctx.Err()
				}
				return 0, err
			}
			left -= n
		}
		return r.ReadAtContext(of, p, off)
	})
}

// ageFlag is a flag with a time.
type ageFlag time.Duration

// Type returns the name of the value in help.
func (f *ageFlag) Type() string { return "AGE" }

func (f *ageFlag) String() string { return "" }

// maxAge is the longest age: a hundred years.
const maxAge = 36525 * 24 * time.Hour

// Set parses a value.
func (f *ageFlag) Set(s string) error {
	units := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	bad := errors.New("expected a time of up to 36525 days, such as 90d, 2w, 12h or 30m")
	if len(s) < 2 {
		return bad
	}
	unit, ok := units[s[len(s)-1]]
	n, err := strconv.Atoi(s[:len(s)-1])
	if !ok || err != nil || n < 1 || n > int(maxAge/unit) {
		return bad
	}
	*f = ageFlag(time.Duration(n) * unit)
	return nil
}

// shareFlag is a flag with a part of the bytes.
type shareFlag float64

// Type returns the name of the value in help.
func (f *shareFlag) Type() string { return "P%" }

func (f *shareFlag) String() string { return "" }

// Set parses a value.
func (f *shareFlag) Set(s string) error {
	text, ok := strings.CutSuffix(s, "%")
	p, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil || !(p > 0 && p <= 100) {
		return fmt.Errorf("expected a share such as 1%% or 0.5%%, up to 100%%")
	}
	*f = shareFlag(p / 100)
	return nil
}
