package receiptfile

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzRead reads files of receipts. One without damage can be continued where its last whole line
// ends.
func FuzzRead(f *testing.F) {
	s := seeds.Of(f)
	text := sample("0a", 2, 1)
	lines := bytes.SplitAfter(text, []byte{'\n'})
	for name, b := range map[string][]byte{
		"whole": text, "two": append(bytes.Clone(text), sample("0b", 1)...), "cut": text[:len(text)-60], "begun": append(bytes.Clone(text), lines[2][:50]...),
		"headless": bytes.Join(lines[1:], nil), "head": lines[0], "lost": append(bytes.Clone(text), make([]byte, 100)...),
		"swapped": bytes.Join([][]byte{lines[0], lines[1], lines[3], lines[2], lines[4]}, nil), "uncounted": uncounted(text, 3),
		"other": []byte("[1]\n7"), "unchained": []byte(`{"source":"/a","archive":"/a.cdfz","sha256":"` + fmt.Sprintf("%064x", 1) + "\"}\n"),
	} {
		s.Add(name, b)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		receipts, damage := 0, 0
		count := &scan{
			use: func(line int, rec *Receipt) {
				receipts++
				require.Positive(t, line)
				require.NotEmpty(t, rec.Archive)
				require.Len(t, rec.SHA256, 64)
			},
			bad: func(e *LineError) {
				damage++
				require.Positive(t, e.Line)
			},
		}
		err := count.all(bytes.NewReader(text))
		most := bytes.Count(text, []byte{'\n'}) + 1
		require.LessOrEqual(t, receipts, most)
		require.LessOrEqual(t, damage, 4*most)
		if err != nil || damage > 0 || count.chains > 1 {
			return
		}
		c := count.c
		next := head{ID: c.head.ID, Lines: c.lines, Last: c.next}
		text = append([]byte(next.text()), text[len(next.text()):count.off]...)
		got := read(t, text)
		require.Empty(t, got.damage)
		require.Len(t, got.receipts, receipts)
		require.Zero(t, got.Cut)
	})
}
