package treefile

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/archive"
)

const (
	format = 1
	head   = `{"cdfz_tree":`
	// maxLine bounds a line in bytes: two paths and the extended attributes of one file.
	maxLine = 1 << 20
)

// first is the first line.
type first struct {
	Format int `json:"cdfz_tree"`
}

// last is the last line.
type last struct {
	End *end `json:"end"`
}

type end struct {
	Entries int    `json:"entries"`
	SHA256  string `json:"sha256"` // of all lines before, with their ends
}

// Read reads a tree file. A damaged one is archive.ErrCorrupt, and one of a newer version archive.ErrVersion. Memory
// grows with the bytes that it reads.
func Read(r io.Reader) (*Tree, error) {
	b := bufio.NewReaderSize(r, maxLine)
	sum := sha256.New()
	t := new(Tree)
	var c checker
	for n := 1; ; n++ {
		text, err := b.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil, damaged(n, errors.New("expected its last line, found the end: it is cut off"))
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, damaged(n, fmt.Errorf("expected lines of less than %d bytes", maxLine))
		case err != nil:
			return nil, err
		}
		whole := text
		text = text[:len(text)-1]
		if n == 1 {
			if err := checkHead(text); err != nil {
				return nil, err
			}
			sum.Write(whole)
			continue
		}
		if bytes.HasPrefix(text, []byte(`{"end":`)) {
			if err := t.checkEnd(text, hex.EncodeToString(sum.Sum(nil))); err != nil {
				return nil, damaged(n, err)
			}
			if _, err := b.ReadByte(); !errors.Is(err, io.EOF) {
				if err != nil {
					return nil, err
				}
				return nil, damaged(n+1, errors.New("expected nothing after the last line"))
			}
			return t, nil
		}
		sum.Write(whole)
		e, err := parse(text)
		if err == nil {
			err = c.add(e)
		}
		if err != nil {
			return nil, damaged(n, err)
		}
		t.entries = append(t.entries, *e)
	}
}

// damage is an error of the class of archive.ErrCorrupt, which is about no archive.
type damage struct{ error }

func (d damage) Is(target error) bool { return target == archive.ErrCorrupt }
func (d damage) Unwrap() error        { return d.error }

// Damaged returns an error of the class of archive.ErrCorrupt for a file of a tree.
func Damaged(format string, args ...any) error { return damage{fmt.Errorf(format, args...)} }

func damaged(n int, err error) error { return Damaged("line %d: %w", n, err) }

func checkHead(text []byte) error {
	f := new(first)
	if !bytes.HasPrefix(text, []byte(head)) || json.Unmarshal(text, f) != nil {
		return damaged(1, fmt.Errorf("expected %s%d}, found %.40q", head, format, text))
	}
	if f.Format != format {
		return fmt.Errorf("version %d of tree files, expected %d: %w", f.Format, format, archive.ErrVersion)
	}
	return nil
}

func (t *Tree) checkEnd(text []byte, sum string) error {
	l := new(last)
	if err := json.Unmarshal(text, l); err != nil {
		return err
	}
	if l.End == nil || l.End.Entries != len(t.entries) || l.End.SHA256 != sum {
		return fmt.Errorf("expected %d entries and SHA-256 %s, found %.200q", len(t.entries), sum, text)
	}
	return nil
}

// WriteTo writes the tree file. The same tree gives the same bytes.
func (t *Tree) WriteTo(w io.Writer) (int64, error) {
	sum := sha256.New()
	out := bufio.NewWriterSize(w, 1<<18)
	total := int64(0)
	add := func(text []byte) error {
		if len(text) >= maxLine {
			return fmt.Errorf("expected lines of less than %d bytes, found one with %d", maxLine, len(text))
		}
		text = append(text, '\n')
		sum.Write(text)
		n, err := out.Write(text)
		total += int64(n)
		return err
	}
	text, err := json.Marshal(first{format})
	if err == nil {
		err = add(text)
	}
	for i := range t.entries {
		if err != nil {
			return total, err
		}
		if text, err = t.entries[i].text(); err == nil {
			err = add(text)
		}
	}
	if err != nil {
		return total, err
	}
	if text, err = json.Marshal(last{&end{len(t.entries), hex.EncodeToString(sum.Sum(nil))}}); err == nil {
		err = add(text)
	}
	if err == nil {
		err = out.Flush()
	}
	return total, err
}
