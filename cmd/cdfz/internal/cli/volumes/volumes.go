// Package volumes writes the volumes of a run: pack fills them with the files of a folder, and archive --pack with archives
// that it makes. The module's package archive/volume has the format.
package volumes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/urls"
)

// MinSize is the smallest size of volumes in bytes: smaller ones are mostly headers.
const MinSize = 16 << 10

// Writer writes the volumes of a run to what -o names, one after the other. It is not safe for concurrent use, but for the
// volumes that it reads.
type Writer struct {
	// Earlier are the volumes that are in the folder of -o: those of earlier runs. None for other targets.
	Earlier *fileio.Volumes
	// Complete, if not nil, is called with the path or the URL of each volume that is complete.
	Complete func(name string)
	Sum      Sum // of complete volumes
	// Unprotected is set once the parity of a volume is wanted and is not there.
	Unprotected error

	run   *cli.Run
	o     Options
	end   func()         // of the turn of this run
	next  int            // number of the next volume in a folder
	begun int            // number of volumes that were begun
	above []*above       // the folders that the next member may lie in
	first map[any]string // paths in the open volume by what their members have in common
	w     *volume.Writer // nil between volumes
	sink  target         // of w
	name  string         // of the last volume that was begun
	last  string         // the path added last to w
}

// Sum is what a run has written.
type Sum struct {
	Members int64 `json:"members"`
	Volumes int64 `json:"volumes"`
	Size    int64 `json:"size"`
	Parity  int64 `json:"parity_size,omitempty"` // bytes beside volumes
}

// Text returns the sum as the last line of a run has it.
func (s *Sum) Text() string {
	if s.Parity == 0 {
		return display.Size(s.Size)
	}
	return display.Size(s.Size) + " and " + display.Size(s.Parity) + " of parity"
}

// Member is what is added to a volume.
type Member struct {
	*volume.Entry
	// Common has, for each way in which members can have the same contents, what these have in common. In a volume, the first
	// of them has the contents, and the others are hard links to it.
	Common []any
	// Contents calls use with the contents of a file. An error before that call leaves the member out.
	Contents func(use func(io.Reader) error) error
}

// MemberError is an error of a member which is left out. The volume is as before.
type MemberError struct{ Err error }

func (e *MemberError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *MemberError) Unwrap() error { return e.Err }

// above is a folder above members.
type above struct {
	*volume.Entry
	in int // the last volume that has it
}

// target receives a volume.
type target interface {
	io.Writer
	Commit(ctx context.Context) error
	Abort()
}

// readBack is a target that can be read before it appears.
type readBack interface {
	ReadBack(ctx context.Context, w *volume.Writer, size int64) error
}

// Options are what is the same for all volumes of a run.
type Options struct {
	Size int64     // bytes of a volume, at most; 0: any
	Time time.Time // of packing, zero for now
	// Parity is the share of parity that a volume gets beside it, 0 for none.
	Parity parity.Share
	// Verified is set if the members are archives that this run has verified, and files that it has read back.
	Verified bool
	// ReadOnly is set if no volume is written.
	ReadOnly bool
}

// New opens the volumes that -o has, and returns the Writer of those that follow. If another run adds such volumes to a local
// folder, New waits for it. The caller must call Close.
func New(ctx context.Context, run *cli.Run, o Options) (*Writer, error) {
	w := &Writer{Earlier: new(fileio.Volumes), run: run, o: o, next: 1, first: map[any]string{}, end: func() {}}
	if run.Dest.IsDir() {
		var err error
		if !o.ReadOnly {
			if w.end, err = run.Turn(ctx, w.prefix()+"volumes"); err != nil {
				return nil, err
			}
		}
		if w.Earlier, err = run.In.OpenVolumes(ctx, run.Dest.Name, nil); err != nil {
			w.end()
			return nil, err
		}
	}
	// What is packed now is the current state: its time is later than that of all others, even if the clock was put back. Shards and
	// runs that are repeated may have a time that others have, too.
	last := w.Earlier.Packed()
	switch {
	case w.o.Time.IsZero():
		if w.o.Time = time.Now(); w.o.Time.Unix() <= last.Unix() {
			w.o.Time = time.Unix(last.Unix()+1, 0)
		}
	case w.o.Time.Unix() < last.Unix():
		w.Earlier.Close()
		w.end()
		return nil, terminal.Lasting(fmt.Errorf("the time of packing is before that of a volume there, %s: its states would stay the current ones", last.UTC().Format(time.RFC3339)))
	}
	for _, name := range w.Earlier.Names() {
		if n, ok := w.numberOf(name); ok && n >= w.next {
			w.next = n + 1
		}
	}
	if !o.ReadOnly {
		w.protectEarlier(ctx)
	}
	return w, nil
}

// numberOf returns the number of a volume of the series that the run writes in a folder.
func (o *Writer) numberOf(base string) (n int, ok bool) {
	number, ok := strings.CutPrefix(strings.TrimSuffix(base, volume.Suffix), o.prefix())
	n, err := strconv.Atoi(number)
	return n, ok && err == nil
}

// Close discards a volume that is not complete, and closes the earlier ones.
func (o *Writer) Close() {
	o.Abandon()
	o.Earlier.Close()
	o.end()
}

// Abandon discards a volume that is not complete.
func (o *Writer) Abandon() {
	if o.w != nil {
		o.w.Abort()
	}
	if o.sink != nil {
		o.sink.Abort()
	}
	o.w, o.sink = nil, nil
	clear(o.first)
}

// prefix is what names of volumes in a folder begin with: shards must not use the same.
func (o *Writer) prefix() string {
	if s := o.run.Select.Shard; s.N > 0 {
		return fmt.Sprintf("%d-of-%d-", s.I, s.N)
	}
	return ""
}

// Name returns the path or the URL of the volume that was begun last, or what -o names.
func (o *Writer) Name() string {
	if o.name != "" {
		return o.name
	}
	return o.run.Dest.Name
}

// Time returns the time of packing of the volumes.
func (o *Writer) Time() time.Time { return o.o.Time }

// Begun returns the number of volumes that were begun.
func (o *Writer) Begun() int { return o.begun }

// First returns the path of the member of the open volume that has something in common, if there is one.
func (o *Writer) First(common any) (path string, ok bool) {
	path, ok = o.first[common]
	return path, ok
}

// Enter notes a folder, whose members follow: a volume that has one of these has the folder, too.
func (o *Writer) Enter(e *volume.Entry) {
	o.leave(e.Path)
	o.above = append(o.above, &above{Entry: e})
}

// leave forgets the folders that a path is not in.
func (o *Writer) leave(path string) {
	for n := len(o.above); n > 0 && !strings.HasPrefix(path, o.above[n-1].Path+"/"); n-- {
		o.above = o.above[:n-1]
	}
}

// In returns the path of the innermost folder that was entered and that has a path, or "".
func (o *Writer) In(path string) string {
	o.leave(path)
	if n := len(o.above); n > 0 {
		return o.above[n-1].Path
	}
	return ""
}

// Add adds a member to the volume, or to another one if it has no room. Members come in the order of volume.Compare: one that
// does not follow the last begins another volume. A folder must have been entered. All errors but a MemberError end the volume.
func (o *Writer) Add(ctx context.Context, m *Member) error {
	if m.Kind != volume.Folder {
		o.leave(m.Path)
	}
	adds := o.linkOf(m)
	full := o.w != nil && o.o.Size > 0 && o.sizeWith(o.w, adds) > o.o.Size && o.w.Members() > 0
	if full || o.w != nil && o.last != "" && volume.Compare(o.last, m.Path) >= 0 {
		if err := o.Finish(ctx); err != nil {
			return err
		}
		adds = m.Entry
	}
	if o.w == nil {
		if err := o.begin(ctx, m.Entry); err != nil {
			return err
		}
	}
	for _, a := range o.above {
		if a.in == o.begun {
			continue
		}
		if err := o.w.Add(a.Entry, nil); err != nil {
			return err
		}
		a.in = o.begun
	}
	if m.Kind == volume.Folder { // it is the last of above
		o.last = m.Path
		return nil
	}
	if adds != m.Entry {
		return o.added(m.Path, o.w.Add(adds, nil))
	}
	began := false
	add := func(r io.Reader) error {
		began = true
		return o.w.Add(m.Entry, r)
	}
	var err error
	if m.Contents == nil {
		err = add(nil)
	} else {
		err = m.Contents(add)
	}
	if err != nil && (!began || errors.Is(err, volume.ErrPath)) {
		return &MemberError{err}
	}
	if err == nil {
		for _, key := range m.Common {
			o.first[key] = m.Path
		}
	}
	return o.added(m.Path, err)
}

// sizeWith returns the greatest number of bytes that a volume has with a member, and with the folders above it that it does not
// have yet.
func (o *Writer) sizeWith(w *volume.Writer, e *volume.Entry) int64 {
	n := w.Size(nil)
	if e != nil && e.Kind != volume.Folder { // a folder is the last of above
		n = w.Size(e)
	}
	for _, a := range o.above {
		if w != o.w || a.in != o.begun {
			n += w.Size(a.Entry) - w.Size(nil)
		}
	}
	return n
}

// linkOf returns the hard link that a member is in the open volume, or the member itself.
func (o *Writer) linkOf(m *Member) *volume.Entry {
	for _, key := range m.Common {
		if first, ok := o.first[key]; ok {
			return &volume.Entry{Path: m.Path, Kind: volume.HardLink, Target: first, Mode: m.Mode, UID: m.UID, GID: m.GID, Modified: m.Modified}
		}
	}
	return m.Entry
}

func (o *Writer) added(path string, err error) error {
	if err == nil {
		o.last = path
	}
	return err
}

// begin begins a volume, whose first member may have more bytes than volumes should.
func (o *Writer) begin(ctx context.Context, first *volume.Entry) (err error) {
	dest := o.run.Dest.Name
	o.name = dest
	if o.run.Dest.IsDir() {
		base := fmt.Sprintf("%s%04d%s", o.prefix(), o.next, volume.Suffix)
		if s3.IsURL(dest) {
			o.name = urls.Below(dest, base)
		} else {
			o.name = filepath.Join(dest, base)
		}
	}
	switch {
	case s3.IsURL(o.name):
		most := o.o.Size
		if most > 0 { // the length of parts follows from it, and their number is limited
			empty := volume.NewWriter(io.Discard, o.o.Time)
			most = max(most, o.sizeWith(empty, first))
			empty.Abort()
		}
		var w *fileio.Object
		if w, err = fileio.NewObject(ctx, o.name, most); err == nil {
			o.sink = w
		}
	default:
		var s *fileio.Sink
		if s, err = o.run.Target(o.name, nil).Sink(ctx); err == nil {
			o.sink = s
		}
	}
	if err != nil {
		return o.overtaken(err)
	}
	o.next++
	o.begun++
	o.last = ""
	o.w = volume.NewWriter(fileio.CtxWriter{Ctx: ctx, W: o.sink}, o.o.Time)
	return nil
}

// overtaken explains the error of a volume that another run has written meanwhile. That may pass, other than a target that exists.
func (o *Writer) overtaken(err error) error {
	if !errors.Is(err, fs.ErrExist) || !o.run.Dest.IsDir() {
		return err
	}
	return terminal.Hinted(errors.New("another run has written a volume of this name meanwhile, which stays"), "the same command packs what no volume has")
}

// Finish completes the volume, if one is open. It is read back before it appears; a store compares the checksum of each part.
// What is one volume by its name is one without members, too.
func (o *Writer) Finish(ctx context.Context) error {
	if o.w == nil {
		if o.begun > 0 || o.run.Dest.IsDir() {
			return nil
		}
		if err := o.begin(ctx, nil); err != nil {
			return err
		}
	}
	members := o.w.Members()
	size, err := o.w.Finish()
	if s, ok := o.sink.(readBack); ok && err == nil {
		err = s.ReadBack(ctx, o.w, size)
	}
	if err == nil {
		err = o.sink.Commit(ctx)
	}
	if err != nil {
		return o.overtaken(err)
	}
	o.w, o.sink = nil, nil
	clear(o.first)
	o.Sum.Members += members
	o.Sum.Volumes++
	o.Sum.Size += size
	switch {
	case o.run.Dest.IsStdout():
	case o.run.Term.JSON:
		o.run.Term.Emit(struct {
			Volume  string `json:"volume"`
			Members int64  `json:"members"`
			Size    int64  `json:"size"`
		}{terminal.ReportName(o.name), members, size})
	default:
		o.run.Term.Report("%s: %s, %s", terminal.ShowTarget(o.name), display.Count(members, "member"), display.Size(size))
	}
	o.protect(ctx, o.name, o.o.Verified)
	if o.Complete != nil {
		o.Complete(o.name)
	}
	return nil
}
