package receiptfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/filetime"
)

// testReceipt returns the i-th receipt of a test.
func testReceipt(i int) *Receipt {
	return &Receipt{
		Source: fmt.Sprintf("/data/%d.nc", i), Archive: fmt.Sprintf("/data/%d.nc.cdfz", i), Size: 3, ArchiveSize: 2, SHA256: fmt.Sprintf("%064x", i),
		Ratio: 1.5, Modified: filetime.Time{Time: time.Unix(300000000000, 5).UTC()}, Version: "v",
	}
}

// found is what Read finds.
type found struct {
	receipts []*Receipt
	damage   []*LineError
	Unended
}

func read(t *testing.T, text []byte) found {
	t.Helper()
	var f found
	u, err := Read(bytes.NewReader(text), func(_ int, rec *Receipt) {
		rec.Run = time.Time{} // changes
		f.receipts = append(f.receipts, rec)
	}, func(e *LineError) { f.damage = append(f.damage, e) })
	require.NoError(t, err)
	f.Unended = *u
	return f
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return b
}

// of returns the receipts of an archive.
func of(t *testing.T, f *File, archive string) (list []*Receipt) {
	t.Helper()
	found, err := f.Index().OfArchive(t.Context(), archive)
	require.NoError(t, err)
	for _, r := range found {
		list = append(list, r.Receipt)
	}
	return list
}

// addTo adds receipts in a run of their own.
func addTo(t *testing.T, name string, receipts ...*Receipt) {
	t.Helper()
	f, err := Open(name)
	require.NoError(t, err)
	for _, rec := range receipts {
		require.NoError(t, f.Add(t.Context(), rec))
	}
	require.NoError(t, f.Close())
}

// TestFile adds receipts at the same time.
func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	f, err := Open(name)
	require.NoError(t, err)
	if runtime.GOOS != "windows" { // it has no locks
		_, err = Open(name)
		require.ErrorIs(t, err, atomicfile.ErrLocked)
	}
	rec := testReceipt(1)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			rec := testReceipt(1)
			rec.Copies = []string{fmt.Sprint("/copies/", i)}
			if err := f.Add(t.Context(), rec); err != nil {
				panic(err)
			}
			// What is on disk counts the receipt.
			b, err := os.ReadFile(name)
			if err != nil {
				panic(err)
			}
			if h, err := parseHead(bytes.SplitN(b, []byte{'\n'}, 2)[0]); err != nil || h.Lines < 2 {
				panic(fmt.Sprint(h, err))
			}
		})
	}
	wg.Wait()
	require.Len(t, of(t, f, rec.Archive), 20)
	require.NoError(t, f.Close())
	got := read(t, readFile(t, name))
	require.Len(t, got.receipts, 20)
	last := testReceipt(1)
	last.Copies = got.receipts[19].Copies
	require.Equal(t, last, got.receipts[19])
	require.Empty(t, got.damage)
	require.Empty(t, got.Runs)

	addTo(t, name)       // adds nothing
	addTo(t, name, last) // states what the last one states
	require.Equal(t, 23, bytes.Count(readFile(t, name), []byte{'\n'}))
	other := testReceipt(1)
	other.SHA256 = testReceipt(2).SHA256
	addTo(t, name, other)
	f, err = Open(name)
	require.NoError(t, err)
	require.Len(t, of(t, f, rec.Archive), 21)
	require.Equal(t, other.SHA256, of(t, f, rec.Archive)[20].SHA256)
	for sum, want := range map[string]bool{other.SHA256: true, rec.SHA256: false} {
		has, err := f.Has(t.Context(), rec.Archive, sum)
		require.NoError(t, err)
		require.Equal(t, want, has)
	}
	require.Empty(t, of(t, f, "/other"))
	require.NoError(t, f.Close())
}

// TestNames adds and reads names that are not UTF-8.
func TestNames(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	want := []*Receipt{}
	for _, s := range []string{"/a\xff", "/a\xfe", "/a\ufffd", "/\n"} {
		rec := testReceipt(1)
		rec.Source, rec.Archive = s, s+".cdfz"
		want = append(want, rec)
	}
	addTo(t, name, want...)
	got := read(t, readFile(t, name))
	require.Equal(t, want, got.receipts)
	require.Empty(t, got.damage)
	require.Equal(t, 2, bytes.Count(readFile(t, name), []byte(`"archive_bytes":`)))
}

// TestOtherFile opens files of something else, which must stay as they are.
func TestOtherFile(t *testing.T) {
	for _, text := range []string{
		"\n", "[", "CDF\x01\x00", "notes", "notes\nand\nmore", "{\n \"name\": 1\n}", "{\"sources\":[", "null\n", strings.Repeat("\x00", maxLine+1), strings.Repeat("\n", 9),
	} {
		name := filepath.Join(t.TempDir(), "r.jsonl")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		_, err := Open(name)
		require.ErrorIs(t, err, ErrNotReceipts, "%.40q", text)
		require.NotErrorIs(t, err, archive.ErrCorrupt)
		require.Equal(t, text, string(readFile(t, name)))
	}
	_, err := Open(t.TempDir())
	require.Error(t, err)
}

// TestVersions opens receipts of other versions.
func TestVersions(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	for text, want := range map[string]error{
		`{"source":"/a","archive":"/a.cdfz","size":3,"archive_size":2,"sha256":"` + strings.Repeat("0a", 32) + "\"}\n": errUnchained,
		`{"cdfz_receipts":2,"new":true}` + "\n": errNewer,
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		_, err := Open(name)
		require.ErrorIs(t, err, want)
	}
}

// TestReplaced removes or replaces the file to which receipts are added: nobody would find them.
func TestReplaced(t *testing.T) {
	if runtime.GOOS == "windows" { // open files stay
		t.Skip()
	}
	for _, replace := range []bool{false, true} {
		name := filepath.Join(t.TempDir(), "r.jsonl")
		f, err := Open(name)
		require.NoError(t, err)
		rec := &Receipt{Source: "/a", Archive: "/a.cdfz", SHA256: strings.Repeat("0a", 32)}
		require.NoError(t, f.Add(t.Context(), rec))
		require.NoError(t, os.Rename(name, name+"~"))
		if replace {
			require.NoError(t, os.WriteFile(name, nil, 0o600))
		}
		require.ErrorContains(t, f.Add(t.Context(), rec), "removed or replaced")
		require.NoError(t, os.Rename(name+"~", name))
		require.ErrorContains(t, f.Add(t.Context(), rec), "removed or replaced", "all further calls fail")
		require.NoError(t, f.Close())
	}
}
