// Package protect answers for all verbs whether a file may be overwritten or deleted, and what vouches
// for it.
//
//	held.go    what a file holds, and whether another one holds it, too
//	source.go  sources: whether they are there, and how they are deleted
package protect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Held is what a file holds that may be replaced.
type Held struct {
	Archive bool // it is an archive, intact or damaged
	// The image of an archive. Name and SHA256 are empty if the archive is too damaged to tell.
	Name   string
	Size   int64
	SHA256 string
	// Source is the SHA-256 of the file that was rounded to the image, or "".
	Source string
	Time   time.Time // of the file that was looked at, or of its source
	Damage error     // found on opening it
}

// Look returns what a file holds. An archive that does not open is searched for its manifest. A
// file that has neither the head nor the tail of one is searched only if it is named like an
// archive.
func Look(ctx context.Context, name string, r io.ReaderAt, size int64) (*Held, error) {
	f, err := archive.New(ioat.Live(ctx, r), size, &archive.OpenOptions{Cache: -1})
	if err == nil {
		return HeldBy(f), nil
	}
	h := &Held{Damage: err}
	if !errors.Is(err, archive.ErrCorrupt) && !errors.Is(err, archive.ErrVersion) {
		ours, probeErr := archive.IsArchive(r, size)
		if probeErr != nil {
			return nil, probeErr
		}
		if !ours && !strings.HasSuffix(name, archive.Suffix) {
			return &Held{}, nil
		}
	}
	id, err := repair.Identify(ctx, r, size)
	switch {
	case errors.Is(err, archive.ErrNotArchive):
		return &Held{}, nil
	case err != nil:
		return nil, err
	case id != nil:
		h.Name, h.Size, h.SHA256, h.Source = id.Name, id.Size, id.SHA256, id.Source
	}
	h.Archive = true
	return h, nil
}

// HeldBy describes an open file.
func HeldBy(f *archive.File) *Held {
	i, ok := f.Info()
	if !ok {
		return &Held{}
	}
	h := &Held{Archive: true, Name: i.ImageName, Size: i.ImageSize, SHA256: i.SHA256}
	if i.Loss != nil {
		h.Source = i.Loss.SourceSHA256
	}
	return h
}

// String describes what is held.
func (h *Held) String() string {
	if !h.Archive {
		return "is no archive"
	}
	if h.SHA256 == "" {
		return fmt.Sprintf("is damaged, so that nobody can tell what it holds (%s)", terminal.WithoutPackages(h.Damage.Error()))
	}
	s := "holds "
	if h.Name != "" { // standard input has none
		s += display.Quoted(h.Name) + ", "
	}
	s += fmt.Sprintf("%d bytes", h.Size)
	if !h.Time.IsZero() {
		s += ", " + h.Time.UTC().Format(time.RFC3339)
	}
	s += ", SHA-256 " + h.SHA256
	if h.Damage != nil {
		s += fmt.Sprintf(", and is damaged (%s)", terminal.WithoutPackages(h.Damage.Error()))
	}
	return s
}

// Covers reports whether nothing is lost if a new archive replaces an old one: both have the
// same image, or the old image is a rounded one of the new.
func (h *Held) Covers(old *Held) bool {
	return h.SHA256 != "" && h.Source == "" && h.SHA256 == old.Source || h.SHA256 != "" && h.SHA256 == old.SHA256
}

// keptHint is the advice for an archive that is not replaced. It must not lead to the loss of
// what that archive holds.
const keptHint = "another name keeps both; cdfz info and cdfz restore -o show what the existing archive holds"

// OtherImage is the error of an archive that is kept because a new file does not hold its image.
func OtherImage(old, new *Held) error {
	err := fmt.Errorf("the existing archive may be the only copy of another file and is kept: it %s; the new file %s", old, new)
	if old.SHA256 == "" {
		return terminal.Hinted(err, "cdfz repair or cdfz restore --salvage may restore what it holds")
	}
	return terminal.Hinted(err, keptHint)
}
