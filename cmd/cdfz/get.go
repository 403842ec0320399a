package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
)

// getFormat is a format that the verb get writes.
type getFormat string

const (
	formatCSV  getFormat = "csv"
	formatJSON getFormat = "json"
	formatNpy  getFormat = "npy"
	formatRaw  getFormat = "raw"
	formatNC   getFormat = "nc"
)

var getFormats = []getFormat{formatCSV, formatJSON, formatNpy, formatRaw, formatNC}

// binary formats are not for terminals.
func (f getFormat) binary() bool { return f != formatCSV && f != formatJSON }

// getter is the verb get.
type getter struct {
	*app
	format  getFormat
	native  bool
	unpack  bool
	explain bool
}

func (a *app) getCmd() *cobra.Command {
	v := &getter{app: a}
	cmd := &cobra.Command{
		Use:   "get [flags] FILE VAR[SELECTION]…",
		Short: "Write parts of variables as CSV, JSON, npy, raw values or netCDF",
		Long: `Reads parts of variables from a classic netCDF file or an archive, and of an archive
only the blocks that hold them. FILE may be an http or https URL, or - for standard
input.

Selections are those of Python and numpy:
  tas                all of the variable
  tas[0]             index 0 of the first dimension, which the result then lacks
  tas[0:10, :, -1]   indices 0 to 9, all, the last; what is not given is all
  tas[::-2, ..., 5]  every second one from the end; ... is all dimensions between
Ranges are cut to the dimension; an index outside of it is an error. Quote selections
for the shell.

In names \ makes the next character one of the name: 'a\[1\]' is variable a[1]. Letters
and digits behind \ are the escapes that messages print: \n, \x00, \u00e9. A name may
stand in double quotes as messages print it: '"a b"[0]'.

Formats (default: by the ending of OUT, else csv):
  csv   a row for each position: a column for each dimension, with the value of its
        coordinate variable or else the index, and one for each VAR. These must have
        the same dimensions and ranges. NaN, Inf, -Inf for what is no number.
  json  {"vars":[{"name", "selection", "type", "dims", "shape", "data"}, …]} with arrays
        in arrays; null for NaN and infinities.
  npy   numpy's format, big-endian as in the file, or --native.
  raw   the values alone, big-endian.
  nc    a classic netCDF file of the same version: the variables, their attributes,
        the dimensions cut to the selections, and the coordinate variables.
CSV and JSON have the shortest digits that give the same number again, and char as
strings along the last dimension, without NULs at their end. In JSON, strings that
are not UTF-8 are read as Latin-1.

--unpack writes what values stand for, as doubles: value * scale_factor + add_offset,
NaN (in JSON null) for _FillValue and missing_value, _Unsigned integers. Variables
without these attributes are written as stored, and so is all without --unpack.`,
		Args: func(_ *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return errors.New("no FILE given")
			case 1:
				return errors.New("no VAR given")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			picks := make([]*picked, 0, len(args)-1)
			for _, arg := range args[1:] {
				p, err := parsePicked(arg)
				if err != nil {
					return err
				}
				picks = append(picks, p)
			}
			if err := v.check(len(picks)); err != nil {
				return err
			}
			if err := v.run(cmd.Context(), args[0], picks); err != nil {
				name := showName(args[0])
				v.failed(name, &shownError{err, name})
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.Var(&choiceFlag[getFormat]{&v.format, getFormats}, "format", "what to write")
	f.BoolVar(&v.unpack, "unpack", false, "write what packed values stand for")
	f.BoolVar(&v.native, "native", false, "npy in the byte order of this machine")
	f.BoolVar(&v.explain, "explain", false, "say which blocks were needed and read (with --json as an object)")
	a.forceFlag(cmd)
	f.BoolVar(&a.json, "json", false, "report as JSON: on standard error if the data is on standard output")
	a.destFlag(cmd, "`OUT`: a file, a folder for a file of each VAR, or - for standard output (default)")
	return cmd
}

// check finds what is wrong with the flags.
func (v *getter) check(vars int) error {
	if v.dest == "" {
		v.dest = stdoutName
	}
	if v.dest != stdoutName && v.isDirDest() {
		if err := v.checkDirDest(nil); err != nil {
			return err
		}
	}
	if v.format == "" {
		v.format = formatCSV
		if ext := getFormat(strings.ToLower(strings.TrimPrefix(filepath.Ext(v.dest), "."))); slices.Contains(getFormats, ext) && !v.isDirDest() {
			v.format = ext
		}
	}
	switch {
	case v.native && v.format != formatNpy:
		return fmt.Errorf("--native: not with --format %s", v.format)
	case vars > 1 && !v.isDirDest() && (v.format == formatNpy || v.format == formatRaw):
		return hinted(fmt.Errorf("--format %s: one file for %d variables", v.format, vars), "-o DIR%c writes a file of each", filepath.Separator)
	case v.dest == stdoutName && v.format.binary() && isTerminal(v.out):
		return hinted(errors.New("will not write binary data to a terminal"), "-o FILE, or a pipe behind the command")
	}
	return nil
}

// fewValues is how many values are had before memory is of any concern.
const fewValues = 1 << 16

// getRun is one run of the verb on a file.
type getRun struct {
	*getter
	name    string
	in      *input
	f       *archive.File
	watched bool         // it is to be explained or shown
	count   *countReader // nil: not watched

	// Up to the last output.
	start              time.Time
	was                archive.Stats
	wasReads, wasBytes int64
}

func (v *getter) run(ctx context.Context, name string, picks []*picked) error {
	start := time.Now()
	defer v.lazyGC()()
	r := &getRun{getter: v, name: name, start: start}
	r.watched = v.explain || v.progress("", "", 0).report() != nil
	if err := r.open(ctx); err != nil {
		return err
	}
	defer r.in.close()
	var sel []*selected
	for _, p := range picks {
		s, err := newSelected(r.f, p, v.unpack)
		if err != nil {
			return err
		}
		sel = append(sel, s)
	}
	if !v.isDirDest() {
		return r.one(ctx, v.dest, sel)
	}
	tuneGC()
	for i, path := range targetNames(sel, string(v.format)) {
		if v.stopped(ctx) {
			break
		}
		if err := r.one(ctx, filepath.Join(v.dest, path), sel[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// open opens the file.
func (r *getRun) open(ctx context.Context) error {
	in, err := r.getter.open(ctx, r.name)
	if err != nil {
		return err
	}
	if r.watched {
		r.count = &countReader{r: in.r}
		in.r = r.count.reader()
	}
	if r.f, err = archive.New(in.r, in.size, r.readerOptions()); err != nil {
		if errors.Is(err, archive.ErrCorrupt) {
			err = explainNotArchive(in, err)
		}
		in.close()
		return err
	}
	if r.in = in; r.name != stdinName {
		r.name = showName(r.name)
	}
	return nil
}

// shownError is an error without the URL of the file before its text: the message
// begins with it anyway.
type shownError struct {
	error
	shown string
}

func (e *shownError) Error() string {
	text := strings.TrimPrefix(strings.TrimPrefix(e.error.Error(), "archive: "), "remote: ")
	return strings.TrimPrefix(text, e.shown+": ")
}

func (e *shownError) Unwrap() error { return e.error }

// lazyGC puts the first run of the garbage collector off until after a selection
// of few values is done: it would take a third of the time. tuneGC undoes it.
func (v *getter) lazyGC() (undo func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	old := debug.SetGCPercent(100)
	return func() { debug.SetGCPercent(old) }
}

// one writes selections to one place.
func (r *getRun) one(ctx context.Context, path string, sel []*selected) error {
	write, needs, err := r.writer(sel)
	if err != nil {
		return err
	}
	dst, err := r.sink(path, r.in)
	if err != nil {
		return err
	}
	defer dst.abort()
	for _, s := range sel {
		if _, n := s.shape(); n > fewValues {
			tuneGC()
			break
		}
	}
	blocks := int64(0)
	stop := func() {}
	if r.watched {
		p := r.progress("get", r.in.name, 0)
		if blocks, p.total, err = r.blocksOf(needs); err != nil {
			return err
		}
		stop = r.show(p, blocks)
	}
	defer func() { stop() }()
	out := &countWriter{w: ctxWriter{ctx, dst}}
	w := bufio.NewWriterSize(out, 1<<16)
	if err = write(ctx, w); err == nil {
		err = w.Flush()
	}
	if err == nil && dst.t != nil {
		err = r.in.changed()
	}
	if err != nil {
		if errors.Is(err, archive.ErrCorrupt) {
			err = hinted(err, "cdfz verify lists all damage")
		}
		return err
	}
	if err := dst.commit(); err != nil {
		return err
	}
	stop()
	r.tell(path, sel, out.n, blocks)
	return nil
}

// writer is what writes selections in the format, and all that it will read.
func (r *getRun) writer(sel []*selected) (write func(context.Context, io.Writer) error, needs []*selected, err error) {
	h := r.f.Header()
	switch r.format {
	case formatCSV:
		t, err := newTable(r.f, sel, r.unpack)
		if err != nil {
			return nil, nil, err
		}
		return t.write, slices.Concat(sel, t.needs()), nil
	case formatJSON:
		return func(ctx context.Context, w io.Writer) error { return writeJSON(ctx, w, h, sel) }, sel, nil
	case formatNpy:
		return func(ctx context.Context, w io.Writer) error { return writeNpy(ctx, w, sel[0], r.native) }, sel, nil
	case formatRaw:
		return func(ctx context.Context, w io.Writer) error { return writeRaw(ctx, w, sel[0], false) }, sel, nil
	}
	s, err := newSubset(r.f, sel, r.unpack)
	if err != nil {
		return nil, nil, err
	}
	return s.write, s.vars, nil
}

// blocksOf is how many blocks selections need, and the bytes that pass by on
// reading them: of decoded blocks, or of values where there are none.
func (r *getRun) blocksOf(sel []*selected) (blocks, bytes int64, err error) {
	var vars []archive.VarInfo
	for _, v := range r.f.Vars() {
		vars = append(vars, v.Info())
	}
	seen := map[int]map[int64]bool{}
	for _, s := range sel {
		_, n := s.shape()
		if !vars[s.num].Blocked {
			bytes += n * s.size
			continue
		}
		i := &vars[s.num]
		of := seen[s.num]
		if of == nil {
			of = map[int64]bool{}
			seen[s.num] = of
		}
		len := s.size
		for _, b := range i.Block {
			len *= b
		}
		shape := s.v.Shape
		err := s.part(nil, nil).Grid(shape, i.Block, func(grid []int64, _, _ int64) bool {
			b := int64(0)
			for k, g := range grid {
				b = b*((shape[k]-1)/i.Block[k]+1) + g
			}
			if !of[b] {
				of[b] = true
				blocks++
				bytes += len
			}
			return true
		})
		if err != nil {
			return 0, 0, err
		}
	}
	return blocks, bytes, nil
}

// show moves the bar while a selection is written; stop takes it away.
func (r *getRun) show(p *progress, blocks int64) (stop func()) {
	report := p.report()
	if report == nil {
		return func() {}
	}
	was := r.stats()
	_, wasBytes := r.count.counts()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if blocks > 0 {
					report(p.total / blocks * (r.stats().Blocks - was.Blocks))
				} else {
					_, bytes := r.count.counts()
					report(bytes - wasBytes)
				}
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-ended
		p.end()
	})
}

// stats is the counters of the archive, zeros for a classic file.
func (r *getRun) stats() archive.Stats {
	return r.f.Stats()
}

// targetNames are the names of files below -o DIR/: those of the variables,
// made fit for any file system, each once.
func targetNames(sel []*selected, ext string) []string {
	taken := map[string]bool{}
	var out []string
	for _, s := range sel {
		base := fileName(s.v.Name)
		name := base
		for n := 2; taken[strings.ToLower(name)]; n++ {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		taken[strings.ToLower(name)] = true
		out = append(out, name+"."+ext)
	}
	return out
}

// devices are no names of files on Windows, whatever their endings.
var devices = []string{"CON", "PRN", "AUX", "NUL", "COM1", "COM2", "COM3", "COM4", "COM5", "COM6", "COM7", "COM8", "COM9",
	"LPT1", "LPT2", "LPT3", "LPT4", "LPT5", "LPT6", "LPT7", "LPT8", "LPT9"}

// fileName is a name with %XX for bytes that names of files had better not have.
func fileName(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		plain := r != utf8.RuneError && printable(name[i:i+n]) == name[i:i+n] && !strings.ContainsRune(`/\:*?"<>|% `, r)
		if plain && (i > 0 || r != '.' && r != '-') {
			b.WriteString(name[i : i+n])
		} else {
			for _, c := range []byte(name[i : i+n]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
		i += n
	}
	const most = 200 // of 255, with room for what is put behind
	s := b.String()
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	if s == "" {
		return "%"
	}
	if slices.Contains(devices, strings.ToUpper(s)) {
		return fmt.Sprintf("%%%02X%s", s[0], s[1:])
	}
	return s
}
