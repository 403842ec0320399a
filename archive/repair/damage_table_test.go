package repair_test

import (
	"archive/zip"
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/packtest"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/internal/faultio"
)

var writeTables = flag.Bool("tables", false, "write docs/damage.md")

const tablesFile = "../../docs/damage.md"

// afterTables is the heading of the part of the file that follows the tables.
const afterTables = "\n## What cdfz deletes and overwrites\n"

// structure is the archive bytes of a structure.
type structure struct {
	name     string
	off, end int64
}

// structures lists the structures of an archive, with all their headers.
func structures(t testing.TB, ar []byte) []structure {
	z, err := zip.NewReader(bytes.NewReader(ar), int64(len(ar)))
	require.NoError(t, err)
	var out []structure
	block := 0
	for _, f := range z.File {
		data, err := f.DataOffset()
		require.NoError(t, err)
		s := structure{"", data - czip.LocalFixed - int64(len(f.Name)+len(f.Extra)), data + int64(f.CompressedSize64)}
		switch name := f.Name; {
		case name == czip.PlanName:
			s.name = "plan"
		case name == ".zmetadata":
			s.name = "Zarr metadata"
		case name == czip.RestPrefix+"0":
			s.name = "netCDF header"
		case name == czip.CopyPlan:
			s.name = "copy of the plan"
		case name == czip.CopyHeader:
			s.name = "copy of the header"
		case name == czip.ParityName:
			s.name = "parity"
		case name == czip.ManifestName:
			s.name = "manifest"
		case name == czip.IndexName:
			s.name = "index"
			out = append(out, structure{"index", s.off, s.end}, structure{"directory", s.end, int64(len(ar)) - czip.EndLen}, structure{"end", int64(len(ar)) - czip.EndLen, int64(len(ar))})
			continue
		case !strings.HasPrefix(name, ".z") && !strings.Contains(name, "/.z"):
			if block++; block == 3 {
				s.name = "a block"
			}
		}
		if s.name != "" {
			out = append(out, s)
		}
	}
	return out
}

// healed heals and repairs an archive as cdfz repair does.
func healed(t testing.TB, ar []byte) []byte {
	f := faultio.NewFile(ar)
	h, err := repair.Heal(context.Background(), f, f.Size(), &repair.Options{Workers: 1})
	require.NoError(t, err)
	defer h.Close()
	p, err := repair.Repair(context.Background(), h, h.Size(), nil)
	require.NoError(t, h.Commit(context.Background(), f))
	if err == nil {
		_, err = p.Commit(context.Background(), f)
		require.NoError(t, err)
		p.Close()
	} else {
		require.True(t, archivetest.Ours(err), "%v", err)
	}
	return f.Bytes()
}

// The outcomes, from the best.
const (
	allBack    = "archive"
	imageBack  = "image"
	partBack   = "part"
	nothing    = "nothing"
	tableIntro = `# What can be restored after damage

A test overwrites each structure of an archive, and each pair of structures, with zeros or random
bytes. Then it runs *repair* and *restore --salvage*. The archive holds 1.1 MB in blocks of 4 KiB.
It has a Zarr view and second copies of the plan and the netCDF header. The test runs without
parity, with parity of 5 %, and with a second copy of the archive. ` + "`go test ./archive/repair -run TestDamageTables -tables`" + ` writes these
tables, and the test compares them with its results.

| word | meaning |
|---|---|
| archive | the repaired archive equals the original byte for byte |
| image | the netCDF file is restored bit for bit, but some bytes of the archive cannot be rebuilt |
| part | all blocks except the overwritten one are restored |
| nothing | no value is restored |

If both plan and end line are lost, *repair* recognizes the archive by the local header of the next
entry, but *verify* does not recognize it. The row "parity" overwrites the whole parity, which is 6 %
of the file.

`
)

// outcome damages structures of an archive and returns what can be restored.
func outcome(t testing.TB, ar, image []byte, random bool, list ...structure) string {
	bad := hit(ar, random, list...)
	what := ""
	for _, h := range list {
		what += h.name + " "
	}
	return outcomeOf(t, ar, image, [][]byte{bad, healed(t, bad)}, what)
}

// outcomeOf returns what can be restored of the last of some archives, which was made of the others: a
// repair makes nothing worse.
func outcomeOf(t testing.TB, ar, image []byte, made [][]byte, what string) string {
	if bytes.Equal(made[len(made)-1], ar) {
		return allBack
	}
	best := nothing
	for _, b := range made {
		s, err := repair.Salvage(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
		if err != nil {
			require.True(t, archivetest.Ours(err), "%v", err)
			continue
		}
		out := &bufferAt{make([]byte, s.Size)}
		require.NoError(t, s.WriteImage(context.Background(), out, 1, nil))
		s.Close()
		switch {
		case bytes.Equal(out.b, image):
			best = imageBack
		default:
			checkSalvaged(t, image, out.b, s, what)
			require.Len(t, s.Lost, 1, what)
			require.NotEqual(t, imageBack, best, "%s: salvage of the repaired archive is worse", what)
			best = partBack
		}
	}
	return best
}

// known returns the outcomes in docs/damage.md, in order.
func known(t testing.TB) []string {
	b, _ := readTables(t)
	return regexp.MustCompile(` (archive|image|part|nothing) \|`).FindAllString(b[strings.Index(b, "## Without"):], -1)
}

// readTables returns the tables of docs/damage.md, and what follows them.
func readTables(t testing.TB) (tables, rest string) {
	b, err := os.ReadFile(tablesFile)
	require.NoError(t, err)
	tables, rest, ok := strings.Cut(string(b), afterTables)
	require.True(t, ok)
	return tables, rest
}

// TestDamageTables makes the tables of docs/damage.md. Without CDFZ_SOAK it makes every 23rd
// entry of them.
func TestDamageTables(t *testing.T) {
	all := *writeTables || os.Getenv("CDFZ_SOAK") != ""
	var have []string
	if !all {
		have = known(t)
	}
	cell := 0
	entry := func(ar, image []byte, random bool, hit ...structure) string {
		if cell++; all || cell%23 == 0 {
			return " " + outcome(t, ar, image, random, hit...) + " |"
		}
		require.LessOrEqual(t, cell, len(have))
		return have[cell-1]
	}
	image, o := noisy(t)
	var text strings.Builder
	text.WriteString(tableIntro)
	for _, share := range []parity.Share{0, 5} {
		o.Parity = share
		ar := packtest.Pack(t, image, o)
		list := structures(t, ar)
		if share == 0 {
			text.WriteString("## Without parity\n")
		} else {
			fmt.Fprintf(&text, "\n## With parity of %s\n", share)
		}
		names := []string{}
		for _, s := range list {
			names = append(names, s.name)
		}
		for _, random := range []bool{false, true} {
			kind := "zeros"
			if random {
				kind = "random bytes"
			}
			fmt.Fprintf(&text, "\nOverwritten with %s; the diagonal is one structure alone:\n\n| | %s |\n|---%s|\n", kind, strings.Join(names, " | "), strings.Repeat("|---", len(list)))
			for i, a := range list {
				fmt.Fprintf(&text, "| **%s** |", a.name)
				for j, b := range list {
					switch {
					case j > i:
						text.WriteString(" |")
					case j == i:
						text.WriteString(entry(ar, image, random, a))
					default:
						text.WriteString(entry(ar, image, random, a, b))
					}
				}
				text.WriteString("\n")
			}
		}
	}
	text.WriteString(secondTable(t))
	want, rest := readTables(t)
	if *writeTables {
		require.NoError(t, os.WriteFile(tablesFile, []byte(text.String()+afterTables+rest), 0o666))
		want = text.String()
	}
	require.Equal(t, want, text.String())
}

// TestTailReads bounds the bytes that a quick repair reads if only the tail is gone: 512 for
// an entry, 1 MiB, plan and manifest.
func TestTailReads(t *testing.T) {
	for name, ar := range map[string][]byte{
		"cube":   packtest.Pack(t, archivetest.Cube(t, 12, 30, 200), &archive.WriteOptions{Block: archive.MinBlock, Zarr: archive.ZarrAlways}),
		"parity": packtest.Pack(t, archivetest.Cube(t, 12, 30, 200), &archive.WriteOptions{Block: archive.MinBlock, Zarr: archive.ZarrAlways, Parity: 5}),
	} {
		f := packtest.File(t, ar)
		info, _ := f.Info()
		z, err := zip.NewReader(bytes.NewReader(ar), int64(len(ar)))
		require.NoError(t, err)
		limit := 512*info.Entries + 1<<20
		var cut int64
		for _, e := range z.File {
			if e.Name == czip.PlanName || e.Name == czip.ManifestName {
				limit += int64(e.CompressedSize64)
			}
			if e.Name == czip.IndexName {
				cut, err = e.DataOffset()
				require.NoError(t, err)
			}
		}
		c := &archivetest.CountingReaderAt{R: bytes.NewReader(ar[:cut])}
		_, err = parity.Find(context.Background(), c, cut, nil)
		require.NoError(t, err)
		p, err := repair.Repair(context.Background(), c, cut, &repair.Options{Quick: true})
		require.NoError(t, err)
		defer p.Close()
		var out bytes.Buffer
		_, err = p.WriteTail(&out)
		require.NoError(t, err)
		require.Equal(t, ar[p.Keep:], out.Bytes())
		t.Logf("%s: %d bytes of %d read, %d entries, at most %d", name, c.Bytes, len(ar), info.Entries, limit)
		require.LessOrEqual(t, c.Bytes, limit)
	}
}
