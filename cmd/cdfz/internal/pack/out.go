package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/urls"
)

// output writes the volumes of a run, one after the other.
type output struct {
	v     *packer
	next  int             // number of the next volume in a folder
	begun int             // number of volumes that were begun
	above []*above        // the folders that the next member may lie in
	names map[node]string // of files with several names in the open volume
	w     *volume.Writer  // nil between volumes
	sink  target          // of w
	at    string          // name of the last volume that was begun
}

// above is a folder above members.
type above struct {
	*item
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

// memberError is an error of a member which is left out.
type memberError struct{ error }

func newOutput(v *packer) *output {
	o := &output{v: v, next: 1, names: map[node]string{}}
	for _, name := range v.earlier.Names() {
		number, ok := strings.CutPrefix(strings.TrimSuffix(name, volume.Suffix), o.prefix())
		if n, err := strconv.Atoi(number); ok && err == nil && n >= o.next {
			o.next = n + 1
		}
	}
	return o
}

// prefix is what names of volumes in a folder begin with: shards must not use the same.
func (o *output) prefix() string {
	if s := o.v.run.Select.Shard; s.N > 0 {
		return fmt.Sprintf("%d-of-%d-", s.I, s.N)
	}
	return ""
}

// name returns the name of the volume that was begun last, or of what -o names.
func (o *output) name() string {
	if o.at != "" {
		return o.at
	}
	return o.v.run.Dest.Name
}

// enter notes a folder, whose members follow.
func (o *output) enter(i *item) {
	o.leave(i.Path)
	o.above = append(o.above, &above{item: i})
}

// leave forgets the folders that a path is not in.
func (o *output) leave(path string) {
	for n := len(o.above); n > 0 && !strings.HasPrefix(path, o.above[n-1].Path+"/"); n-- {
		o.above = o.above[:n-1]
	}
}

// add adds a member to the volume, or to another one if it has no room.
func (o *output) add(ctx context.Context, t *tree, i *item) error {
	if i.Kind != volume.Folder {
		o.leave(i.Path)
	}
	if o.w != nil && o.v.size > 0 && o.w.Size(&i.Entry) > o.v.size && o.w.Members() > 0 {
		if err := o.finish(ctx); err != nil {
			return err
		}
	}
	if o.w == nil {
		if err := o.begin(ctx); err != nil {
			return err
		}
	}
	for _, a := range o.above {
		if a.in == o.begun {
			continue
		}
		if err := o.w.Add(&a.Entry, nil); err != nil {
			return err
		}
		a.in = o.begun
		o.v.sum.Members++
	}
	if i.Kind == volume.Folder { // it is the last of above
		return nil
	}
	if i.node != (node{}) {
		if first, ok := o.names[i.node]; ok {
			link := volume.Entry{Path: i.Path, Kind: volume.HardLink, Target: first, Mode: i.Mode, UID: i.UID, GID: i.GID, Modified: i.Modified}
			return o.added(o.w.Add(&link, nil))
		}
		o.names[i.node] = i.Path
	}
	began := false
	err := t.contents(i, func(r io.Reader) error {
		began = true
		return o.w.Add(&i.Entry, r)
	})
	if err != nil && (!began || errors.Is(err, volume.ErrPath)) {
		delete(o.names, i.node)
		return &memberError{err}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", terminal.ShowName(t.name(i.Path)), err)
	}
	return o.added(nil)
}

func (o *output) added(err error) error {
	if err == nil {
		o.v.sum.Members++
	}
	return err
}

// begin begins a volume.
func (o *output) begin(ctx context.Context) (err error) {
	dest := o.v.run.Dest.Name
	o.at = dest
	if o.v.run.Dest.IsDir() {
		base := fmt.Sprintf("%s%04d%s", o.prefix(), o.next, volume.Suffix)
		if s3.IsURL(dest) {
			o.at = urls.Below(dest, base)
		} else {
			o.at = filepath.Join(dest, base)
		}
	}
	switch {
	case s3.IsURL(o.at):
		var w *s3.Writer
		if w, err = s3.NewWriter(ctx, o.at, o.v.size); err == nil {
			o.sink = w
		}
	default:
		var s *fileio.Sink
		if s, err = o.v.run.Target(o.at, nil).Sink(ctx); err == nil {
			o.sink = s
		}
	}
	if err != nil {
		return err
	}
	o.next++
	o.begun++
	o.w = volume.NewWriter(fileio.CtxWriter{Ctx: ctx, W: o.sink}, o.v.at)
	return nil
}

// finish completes the volume, if one is open.
func (o *output) finish(ctx context.Context) error {
	if o.w == nil {
		if o.begun > 0 || o.v.run.Dest.IsDir() {
			return nil
		}
		if err := o.begin(ctx); err != nil { // one volume without members
			return err
		}
	}
	members := o.w.Members()
	size, err := o.w.Finish()
	if s, ok := o.sink.(readBack); ok && err == nil { // a store compares the checksum of each part
		err = s.ReadBack(ctx, o.w, size)
	}
	if err == nil {
		err = o.sink.Commit(ctx)
	}
	if err != nil {
		return err
	}
	o.w, o.sink = nil, nil
	clear(o.names)
	o.v.sum.Volumes++
	o.v.sum.Size += size
	switch {
	case o.v.run.Dest.IsStdout():
	case o.v.run.Term.JSON:
		o.v.run.Term.Emit(struct {
			Volume  string `json:"volume"`
			Members int64  `json:"members"`
			Size    int64  `json:"size"`
		}{terminal.ReportName(o.at), members, size})
	default:
		o.v.run.Term.Report("%s: %s, %s", terminal.ShowTarget(o.at), display.Count(members, "member"), display.Size(size))
	}
	return nil
}

// abort discards a volume that is not complete.
func (o *output) abort() {
	if o.w != nil {
		o.w.Abort()
	}
	if o.sink != nil {
		o.sink.Abort()
	}
}
