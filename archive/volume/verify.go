package volume

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"iter"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Verify returns the members, from front to back, each with the error of what is damaged of it: its header, which must
// agree with the index, or a file that has not the SHA-256 of the index. Archives have no SHA-256: package verify checks
// them. An error without a member ends the sequence: the index or the first header is damaged, or the file cannot be read. The bytes of members
// without a SHA-256 are not read.
func (v *Volume) Verify(ctx context.Context) iter.Seq2[*Entry, error] { return v.verify(ctx, true) }

// Check returns an error unless the index leads to the headers of all members, and these agree with it. It does not read
// contents.
func (v *Volume) Check(ctx context.Context) error {
	for _, err := range v.verify(ctx, false) {
		if err != nil {
			return err
		}
	}
	return nil
}

// verify is Verify, which compares contents only if sums is true.
func (v *Volume) verify(ctx context.Context, sums bool) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		if v.rebuilt != nil { // the members are those of the headers
			for e, err := range v.Members(ctx, "") {
				if !yield(e, err) || err != nil {
					return
				}
			}
			yield(nil, v.rebuilt)
			return
		}
		header, stop := iter.Pull2(scanned(ctx, v.r, v.t.index))
		defer stop()
		h, failed, more := header()
		for e, err := range v.Members(ctx, "") {
			if err != nil {
				yield(nil, err)
				return
			}
			for more && failed == nil && Compare(h.Path, e.Path) < 0 { // the index has no such member
				if !yield(h, corrupt("%.200q has a header, and no row in the index", h.Path)) {
					return
				}
				h, failed, more = header()
			}
			switch {
			case failed != nil:
				yield(nil, failed)
				return
			case !more || h.Path != e.Path:
				err = corrupt("%.200q has a row in the index, and no header", e.Path)
			default:
				if !e.agrees(h) {
					err = corrupt("the header of %.200q is not what the index has", e.Path)
				}
				h, failed, more = header()
			}
			if err == nil && e.HasSum && sums {
				err = v.verifySum(ctx, e)
			}
			if err != nil && !errors.Is(err, ErrCorrupt) {
				yield(nil, err)
				return
			}
			if !yield(e, err) {
				return
			}
		}
		for ; more && failed == nil; h, failed, more = header() {
			if !yield(h, corrupt("%.200q has a header, and no row in the index", h.Path)) {
				return
			}
		}
		if failed == nil {
			failed = v.checkFront(ctx)
		}
		if failed != nil {
			yield(nil, failed)
		}
	}
}

// checkFront returns an error unless the file begins like a volume.
func (v *Volume) checkFront(ctx context.Context) error {
	is, err := IsVolume(ioat.Bind(ctx, v.r), v.t.index)
	if err == nil && !is {
		err = corrupt("the first header is not that of a volume")
	}
	return err
}

// scanned is Scan of the members before an offset, as a sequence.
func scanned(ctx context.Context, r io.ReaderAt, end int64) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		done := errors.New("done")
		err := Scan(ctx, ioat.Of(r).Section(0, end), end, func(e *Entry) error {
			if !yield(e, nil) {
				return done
			}
			return nil
		})
		if err != nil && err != done {
			yield(nil, err)
		}
	}
}

// agrees reports whether a member of the index is that of a header.
func (e *Entry) agrees(h *Entry) bool {
	return e.Kind == h.Kind && e.Mode == h.Mode && e.UID == h.UID && e.GID == h.GID && e.Size == h.Size && e.Target == h.Target && e.off == h.off && e.Modified.Equal(h.Modified)
}

func (v *Volume) verifySum(ctx context.Context, e *Entry) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(ioat.Bind(ctx, v.r.Section(e.off, e.Size)), 0, e.Size)); err != nil {
		return err
	}
	if found := [32]byte(sum.Sum(nil)); found != e.Sum {
		return corrupt("%.200q: expected SHA-256 %x, found %x", e.Path, e.Sum, found)
	}
	return nil
}
