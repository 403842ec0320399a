package receiptfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
)

// sample returns a file of receipts with a run for each number of receipts.
func sample(id string, runs ...int) []byte {
	h := head{ID: strings.Repeat(id, 16)}
	h.Last = h.first()
	var text []byte
	add := func(l *line) {
		l.Prev = h.Last
		b, err := l.text()
		if err != nil {
			panic(err)
		}
		text = append(append(text, b...), '\n')
		h.Last = sum(b)
		h.Lines++
	}
	i := 0
	for _, n := range runs {
		add(&line{Run: &runJSON{Time: time.Unix(1, 0).UTC(), Version: "v"}})
		for range n {
			i++
			add(ofReceipt(testReceipt(i)))
		}
		add(&line{End: &endJSON{Time: time.Unix(2, 0).UTC(), Receipts: int64(n)}})
	}
	return append([]byte(h.text()+"\n"), text...)
}

// uncounted returns a file whose head counts only some lines, as if a run had been killed before it
// counted the others.
func uncounted(text []byte, count int) []byte {
	lines := bytes.Split(text, []byte{'\n'})
	h, err := parseHead(lines[0])
	if err != nil {
		panic(err)
	}
	h.Lines, h.Last = int64(count), h.first()
	if count > 0 {
		h.Last = sum(lines[count])
	}
	return append([]byte(h.text()), text[len(lines[0]):]...)
}

// TestTamper changes files of receipts, also of a run that was killed before its end, whose head
// counts all lines. All changes are damage, in a line that is not far away, and nothing is added to
// such a file.
func TestTamper(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	ended := sample("0a", 2, 3)
	killed := ended[:bytes.LastIndexByte(ended[:len(ended)-1], '\n')+1]
	killed = uncounted(killed, bytes.Count(killed, []byte{'\n'})-1)
	other := bytes.SplitAfter(sample("0b", 2, 3), []byte{'\n'})
	for file, text := range map[string][]byte{"ended": ended, "killed": killed} {
		require.Empty(t, read(t, text).damage)
		lines := bytes.SplitAfter(text, []byte{'\n'})
		lines = lines[:len(lines)-1]
		name := filepath.Join(t.TempDir(), "r.jsonl")
		tried := 0
		// near bounds the line of the first damage.
		check := func(what string, text []byte, near, until int) {
			t.Helper()
			tried++
			var first *LineError
			_, err := Read(bytes.NewReader(text), func(int, *Receipt) {}, func(e *LineError) {
				if first == nil {
					first = e
				}
			})
			if err != nil { // the start of the head is gone: it is some other file
				require.ErrorIs(t, err, ErrNotReceipts, "%s: %s", file, what)
				require.Equal(t, 1, near, what)
			} else {
				require.NotNil(t, first, "%s: %s", file, what)
				require.ErrorIs(t, first, archive.ErrCorrupt)
				require.GreaterOrEqual(t, first.Line, near, "%s: %s: %v", file, what, first)
				require.LessOrEqual(t, first.Line, until, "%s: %s: %v", file, what, first)
			}
			if tried%101 > 0 { // opening takes longer
				return
			}
			require.NoError(t, os.WriteFile(name, text, 0o600))
			_, err = Open(name)
			require.Error(t, err, "%s: %s", file, what)
			require.Equal(t, string(text), string(readFile(t, name)))
		}
		join := func(lines ...[]byte) []byte { return bytes.Join(lines, nil) }
		n := len(lines)
		for i := range n {
			at := max(1, i+1)
			check(fmt.Sprintf("without line %d", at), join(slices.Delete(slices.Clone(lines), i, i+1)...), at, at)
			check(fmt.Sprintf("line %d twice", at), join(slices.Insert(slices.Clone(lines), i, lines[i])...), at, at+1)
			check(fmt.Sprintf("line %d at the end", at), join(append(slices.Clone(lines), lines[i])...), 1, n+2)
			check(fmt.Sprintf("empty line %d", at), join(slices.Insert(slices.Clone(lines), i, []byte("\n"))...), at, at)
			for j := range i {
				swapped := slices.Clone(lines)
				swapped[i], swapped[j] = swapped[j], swapped[i]
				check(fmt.Sprintf("lines %d and %d swapped", j+1, at), join(swapped...), max(1, j+1), j+2)
			}
			for j := 1; j < n; j++ {
				check(fmt.Sprintf("line %d of another file", at), join(slices.Insert(slices.Clone(lines), i, other[j])...), at, at+1)
				mixed := slices.Clone(lines)
				mixed[i] = other[j]
				check(fmt.Sprintf("line %d replaced", at), join(mixed...), at, at+1)
			}
			if i > 0 {
				check(fmt.Sprintf("another head before line %d", at), join(slices.Insert(slices.Clone(lines), i, other[0])...), at, at)
				check(fmt.Sprintf("another file before line %d", at), join(slices.Insert(slices.Clone(lines), i, other[:len(other)-1]...)...), at, at)
			}
		}
		check("without the first two lines", join(lines[2:]...), 1, 1)
		check("emptied", nil, 1, 1)
		line := 1
		for i := range text {
			check(fmt.Sprintf("cut off after %d bytes", i), text[:i], line, line+1)
			until := line + 1
			if line == 1 { // the head has the hash of the last line
				until = n + 1
			}
			for _, flip := range []byte{1, 0x20, 0xff} {
				b := bytes.Clone(text)
				b[i] ^= flip
				check(fmt.Sprintf("byte %d changed by %#x", i, flip), b, line, until)
			}
			check(fmt.Sprintf("without byte %d of the file", i), slices.Delete(bytes.Clone(text), i, i+1), line, until)
			if text[i] == '\n' {
				line++
			}
		}
		check("another head", join(append([][]byte{other[0]}, lines[1:]...)...), 1, 2)
		t.Logf("%s: %d bytes, %d changes", file, len(text), tried)
	}
}

// TestKilled cuts a file at many bytes after the lines that each of its heads counts, which is what
// a run that was killed at that write leaves. No receipt that a head counts is lost, the file is
// not damaged, and the next run continues it.
func TestKilled(t *testing.T) {
	text := sample("0a", 2, 1)
	lines := bytes.SplitAfter(text, []byte{'\n'})
	lines = lines[:len(lines)-1]
	dir := t.TempDir()
	total := 0
	for count := range lines {
		killed := uncounted(text, count)
		counted := len(bytes.Join(lines[:count+1], nil))
		confirmed := len(read(t, uncounted(killed[:counted], count)).receipts)
		for end := counted; end <= len(killed); end++ {
			if (end-counted)%97 > 0 && killed[end-1] != '\n' {
				continue
			}
			for _, lost := range []int{0, 300} { // bytes that the system has not written at a loss of power
				left := append(bytes.Clone(killed[:end]), make([]byte, lost)...)
				got := read(t, left)
				require.Empty(t, got.damage)
				require.GreaterOrEqual(t, len(got.receipts), confirmed)
				whole := lost == 0 && left[end-1] == '\n'
				require.Equal(t, !whole, got.Cut > 0)
				name := filepath.Join(dir, fmt.Sprint(total))
				total++
				require.NoError(t, os.WriteFile(name, left, 0o600))
				addTo(t, name, testReceipt(9))
				again := read(t, readFile(t, name))
				require.Empty(t, again.damage)
				require.Empty(t, again.Runs)
				require.Zero(t, again.Cut)
				require.Equal(t, append(got.receipts, testReceipt(9)), again.receipts)
				// A run that adds nothing ends what was killed, too.
				require.NoError(t, os.WriteFile(name, left, 0o600))
				addTo(t, name)
				again = read(t, readFile(t, name))
				require.Empty(t, again.damage)
				require.Empty(t, again.Runs)
				require.Zero(t, again.Cut)
				require.Equal(t, got.receipts, again.receipts)
				require.NoError(t, os.Remove(name))
			}
		}
	}
	t.Logf("%d kills", total)
}

// TestJoined reads files one after the other, to which nothing is added.
func TestJoined(t *testing.T) {
	a, b := sample("0a", 2), sample("0b", 1)
	open := uncounted(b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1], 2)
	got := read(t, append(append(bytes.Clone(a), open...), a...))
	require.Empty(t, got.damage)
	require.Len(t, got.receipts, 5)
	require.Equal(t, []int{7}, got.Runs)

	name := filepath.Join(t.TempDir(), "r.jsonl")
	both := append(bytes.Clone(a), b...)
	require.NoError(t, os.WriteFile(name, both, 0o600))
	_, err := Open(name)
	require.ErrorContains(t, err, "several files of receipts")
	require.Equal(t, both, readFile(t, name))

	cut := append(bytes.Clone(a[:len(a)-1]), b...) // lost the end of the last line
	require.NotEmpty(t, read(t, cut).damage)
}

// TestJoinedAfterCut joins two files. The first ends as a killed run or a loss of power leaves it. The
// receipts of the second are read, and the next run does not remove them.
func TestJoinedAfterCut(t *testing.T) {
	a, b := sample("0a", 2), sample("0b", 1)
	for _, left := range []string{"\x00", "\x00\n", "x\x00y\n\x00\n{}\n", strings.Repeat("\x00", 3*maxLine), strings.Repeat("\x00", 3*maxLine) + "\n"} {
		both := slices.Concat(a, []byte(left), b)
		got := read(t, both)
		require.NotEmpty(t, got.damage)
		require.Equal(t, 6, got.damage[0].Line)
		require.Zero(t, got.Cut)
		if len(left) < maxLine { // the head of the second file is not in the line that is too long
			require.Len(t, got.damage, 1)
			require.Len(t, got.receipts, 3)
		}
		name := filepath.Join(t.TempDir(), "r.jsonl")
		require.NoError(t, os.WriteFile(name, both, 0o600))
		_, err := Open(name)
		require.ErrorIs(t, err, archive.ErrCorrupt)
		require.Equal(t, both, readFile(t, name))
	}
	// The second file is cut off within its head.
	got := read(t, slices.Concat(a, []byte{0}, b[:80]))
	require.NotEmpty(t, got.damage)
}

// TestLong has lines that are too long, within the lines that the head counts and after them.
func TestLong(t *testing.T) {
	text := sample("0a", 1)
	for _, end := range []string{"", "\n"} {
		long := append(bytes.Clone(text), strings.Repeat("x", 3*maxLine)+end...)
		got := read(t, long)
		require.Len(t, got.receipts, 1)
		if end == "" {
			require.Equal(t, 5, got.Cut)
			require.Empty(t, got.damage)
			continue
		}
		require.Len(t, got.damage, 1)
		require.EqualError(t, got.damage[0], fmt.Sprintf("line 5: expected at most %d bytes, found %d", maxLine, 3*maxLine+1))
	}
	name := filepath.Join(t.TempDir(), "r.jsonl")
	f, err := Open(name)
	require.NoError(t, err)
	rec := testReceipt(1)
	rec.Source = strings.Repeat("x", maxLine)
	require.ErrorContains(t, f.Add(t.Context(), rec), "expected lines of less than")
	require.NoError(t, f.Close())
	require.Empty(t, read(t, readFile(t, name)).damage)
}

// TestOtherProgram changes a file while receipts are added to it, as another program can where the
// system has no locks. Nothing is deleted after an error.
func TestOtherProgram(t *testing.T) {
	for what, change := range map[string]func(name string){
		"appends": func(name string) {
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
			require.NoError(t, err)
			_, err = f.WriteString("x\n")
			require.NoError(t, err)
			require.NoError(t, f.Close())
		},
		"truncates": func(name string) { require.NoError(t, os.Truncate(name, 10)) },
		"overwrites the head": func(name string) {
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.WriteAt(sample("0c", 1)[:100], 0)
			require.NoError(t, err)
			require.NoError(t, f.Close())
		},
	} {
		name := filepath.Join(t.TempDir(), "r.jsonl")
		f, err := Open(name)
		require.NoError(t, err)
		require.NoError(t, f.Add(t.Context(), testReceipt(1)))
		change(name)
		require.Error(t, f.Add(t.Context(), testReceipt(2)), what)
		require.ErrorContains(t, f.Add(t.Context(), testReceipt(3)), "changed the file", what)
		require.NoError(t, f.Close())
	}
}
