//go:build corpus

package cdf3

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The corpus is a folder of files written by other programs, with the results of other
// readers. It is too large for this repository. CDFZ_CORPUS names it:
//
//	CDFZ_CORPUS=/path/to/corpus go test -tags corpus ./cdf3

type corpusVar struct {
	Name   string
	Type   string
	DimIDs []int
	Shape  []int64
	Begin  int64
	VSize  uint64
	NBytes int64
	Atts   []corpusAttr
	SHA256 string
}

type corpusAttr struct {
	Name, Type string
	NElems     int64
	SHA256     string
}

type corpusValid struct {
	File         string
	Size         int64
	Format       string
	HeaderBytes  int64  `json:"header_bytes"`
	NumRecsField uint64 `json:"numrecs_field"`
	NumRecs      int64
	RecSize      int64
	Dims         []struct {
		Name      string
		Len       int64
		Unlimited bool
	}
	GAtts []corpusAttr
	Vars  []corpusVar
}

type corpusMalformed struct {
	File, Class, Change string
	Size                int64
	Scan                string
	NetCDF              string `json:"netcdf_c"`
	Reads               *struct {
		Vars []struct {
			Name, Type string
			Shape      json.RawMessage // lengths, or a text such as "rank 1025"
			SHA256     string
		}
	} `json:"netcdf_c_reads"`
}

func corpus(t *testing.T) (dir string, valid []corpusValid, malformed []corpusMalformed) {
	dir = os.Getenv("CDFZ_CORPUS")
	require.NotEmpty(t, dir, "CDFZ_CORPUS is not set")
	b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	require.NoError(t, err)
	var m struct {
		Valid     []corpusValid
		Malformed []corpusMalformed
	}
	require.NoError(t, json.Unmarshal(b, &m))
	require.NotEmpty(t, m.Valid)
	require.NotEmpty(t, m.Malformed)
	return dir, m.Valid, m.Malformed
}

// sparse describes a file that is zero except for some extents, and its expected
// header.
type sparse struct {
	Size        int64
	HeaderBytes int64 `json:"header_bytes"`
	NumRecs     int64
	RecSize     int64
	Dims        [][2]any // name, length
	Vars        []struct {
		Name, Type string
		DimIDs     []int
		Begin      int64
		VSize      uint64
		Truth      struct {
			SHA256 string
			NBytes int64
		}
	}
	Extents [][2]any // offset, bytes in hex
	bytes   map[int64][]byte
}

func (s *sparse) ReadAt(p []byte, off int64) (int, error) {
	n := int(max(0, min(int64(len(p)), s.Size-off)))
	clear(p[:n])
	for at, b := range s.bytes {
		from, to := max(at, off), min(at+int64(len(b)), off+int64(n))
		if from < to {
			copy(p[from-off:to-off], b[from-at:])
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// openCorpus opens a file of the manifest and decompresses it if it ends in .gz.
func openCorpus(t *testing.T, dir, name string) (r io.ReaderAt, size int64) {
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	require.NoError(t, err)
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(b))
		require.NoError(t, err)
		b, err = io.ReadAll(z)
		require.NoError(t, err)
	}
	return bytes.NewReader(b), int64(len(b))
}

// manifestName returns a name in the form that the manifest uses.
func manifestName(s string) string {
	if strings.Contains(s, "\x00") || !utf8.ValidString(s) {
		return "hex:" + hex.EncodeToString([]byte(s))
	}
	return s
}

func manifestAttrs(attrs []Attr) []corpusAttr {
	list := make([]corpusAttr, 0, len(attrs))
	for _, a := range attrs {
		sum := sha256.Sum256(a.Values)
		list = append(list, corpusAttr{manifestName(a.Name), a.Type.String(), a.Len, hex.EncodeToString(sum[:8])})
	}
	return list
}

// hashVar hashes the values of a variable, record after record. Values beyond the end
// of the file count as zeros.
func hashVar(t *testing.T, r io.ReaderAt, h *Header, v *Var) string {
	sum := sha256.New()
	buf := make([]byte, 1<<16)
	records := int64(1)
	if v.Record {
		records = h.NumRecs
	}
	for n := range records {
		for off := int64(0); off < v.RecLen; {
			p := buf[:min(int64(len(buf)), v.RecLen-off)]
			k, err := r.ReadAt(p, v.Begin+n*h.RecSize+off)
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				clear(p[k:])
			}
			sum.Write(p)
			off += int64(len(p))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func TestCorpusValid(t *testing.T) {
	dir, valid, _ := corpus(t)
	hashed := 0
	for _, want := range valid {
		t.Run(want.File, func(t *testing.T) {
			name := want.File
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				name += ".gz"
			}
			r, size := openCorpus(t, dir, name)
			require.Equal(t, want.Size, size)
			h, err := Read(r, size)
			require.NoError(t, err)
			assert.Equal(t, want.Format, h.Version.String())
			assert.Equal(t, want.HeaderBytes, h.Len)
			assert.Equal(t, want.NumRecsField, h.NumRecsField)
			assert.Equal(t, want.NumRecs, h.NumRecs)
			assert.Equal(t, want.RecSize, h.RecSize)
			assert.Equal(t, len(want.Dims), len(h.Dims))
			for i, d := range want.Dims {
				got := h.Dims[i]
				assert.Equal(t, d.Name, manifestName(got.Name))
				assert.Equal(t, d.Unlimited, got.Len == 0)
				if !d.Unlimited {
					assert.Equal(t, d.Len, got.Len)
				}
			}
			assert.Equal(t, append([]corpusAttr{}, want.GAtts...), manifestAttrs(h.Attrs))
			require.Equal(t, len(want.Vars), len(h.Vars))
			for i, w := range want.Vars {
				v := &h.Vars[i]
				assert.Equal(t, w.Name, manifestName(v.Name))
				assert.Equal(t, w.Type, v.Type.String(), w.Name)
				assert.Equal(t, append([]int{}, w.DimIDs...), append([]int{}, v.DimIDs...), w.Name)
				assert.Equal(t, append([]int64{}, w.Shape...), append([]int64{}, v.Shape...), w.Name)
				assert.Equal(t, w.Begin, v.Begin, w.Name)
				assert.Equal(t, w.VSize, v.VSize, w.Name)
				assert.Equal(t, w.NBytes, v.Len, w.Name)
				assert.Equal(t, append([]corpusAttr{}, w.Atts...), manifestAttrs(v.Attrs), w.Name)
				hashed++
				assert.Equal(t, w.SHA256, hashVar(t, r, h, v), w.Name)
			}
			again, err := h.Append(nil)
			require.NoError(t, err)
			assert.Equal(t, h.Len, int64(len(again)))
		})
	}
	t.Logf("%d files, %d variables hashed", len(valid), hashed)
}

// TestCorpusSparse reads the headers of files of many GB. Variables of more
// than 64 MiB are not hashed.
func TestCorpusSparse(t *testing.T) {
	dir, _, _ := corpus(t)
	files, err := filepath.Glob(filepath.Join(dir, "sparse", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		s := &sparse{bytes: map[int64][]byte{}}
		require.NoError(t, json.Unmarshal(b, s))
		for _, e := range s.Extents {
			b, err := hex.DecodeString(e[1].(string))
			require.NoError(t, err)
			s.bytes[int64(e[0].(float64))] = b
		}
		h, err := Read(s, s.Size)
		require.NoError(t, err, name)
		assert.Equal(t, s.HeaderBytes, h.Len, name)
		assert.Equal(t, s.NumRecs, h.NumRecs, name)
		assert.Equal(t, s.RecSize, h.RecSize, name)
		require.Equal(t, len(s.Dims), len(h.Dims), name)
		for i, d := range s.Dims {
			assert.Equal(t, Dim{d[0].(string), int64(d[1].(float64))}, h.Dims[i], name)
		}
		require.Equal(t, len(s.Vars), len(h.Vars), name)
		for i, w := range s.Vars {
			v := &h.Vars[i]
			assert.Equal(t, w.Name, v.Name, name)
			assert.Equal(t, w.Type, v.Type.String(), name)
			assert.Equal(t, w.DimIDs, v.DimIDs, name)
			assert.Equal(t, w.Begin, v.Begin, name)
			assert.Equal(t, w.VSize, v.VSize, name)
			if w.Truth.SHA256 != "" && v.Len <= 64<<20 {
				assert.Equal(t, w.Truth.NBytes, v.Len, name)
				assert.Equal(t, w.Truth.SHA256, hashVar(t, s, h, v), name)
			}
		}
	}
}

// divergence explains why Read refuses a file that the C library accepts, from the text
// of the error. It returns "" for an unknown reason.
func divergence(err error) string {
	for _, d := range []struct{ text, reason string }{
		{"truncated header", "the C library reads zeros after the end of the file"},
		{"do not fit in the", "the C library reads zeros after the end of the file"},
		{", expected 0xc or 0", "the C library does not check the tag of an empty attribute list"},
		{", expected 0xb or 0", "the C library does not check the tag of an empty list"},
		{", expected 0xa or 0", "the C library does not check the tag of an empty list"},
		{"expected 1 to 11", "the C library opens files with type codes it does not know"},
		{"overflow", "the C library lets lengths pass the range of int64"},
		{"records, expected at most", "the C library lets numrecs pass the range of int64"},
		{"length 2147483648, expected", "dimension lengths of CDF-1 have 31 bits"},
		{"length 4294967295, expected", "dimension lengths of CDF-1 have 31 bits"},
		{"length 9223372036854775808", "the C library lets lengths pass the range of int64"},
		{"length 18446744073709551615", "the C library lets lengths pass the range of int64"},
		{"expected 0 or more", "the C library takes begin as unsigned"},
	} {
		if strings.Contains(err.Error(), d.text) {
			return d.reason
		}
	}
	return ""
}

func TestCorpusMalformed(t *testing.T) {
	dir, _, malformed := corpus(t)
	z, err := zip.OpenReader(filepath.Join(dir, "malformed.zip"))
	require.NoError(t, err)
	defer z.Close()
	count := map[string]int{}
	for _, m := range malformed {
		var b []byte
		if name, ok := strings.CutPrefix(m.File, "malformed.zip:"); ok {
			f, err := z.Open(name)
			require.NoError(t, err, m.File)
			b, err = io.ReadAll(f)
			require.NoError(t, err)
			f.Close()
		} else {
			r, size := openCorpus(t, dir, m.File)
			b = make([]byte, size)
			require.NoError(t, readFull(r, b, 0))
		}
		require.Equal(t, m.Size, int64(len(b)), m.File)
		h, err := parse(b)
		accepted := strings.HasPrefix(m.NetCDF, "accepted")
		if err != nil {
			if !errors.Is(err, ErrNotCDF) {
				var fe *FormatError
				require.ErrorAs(t, err, &fe, m.File)
				require.LessOrEqual(t, fe.Off, int64(len(b)))
			}
			reason := "the C library refuses it too"
			if accepted {
				reason = divergence(err)
				assert.NotEmpty(t, reason, "%s (%s): %v", m.File, m.Change, err)
			}
			count["refused: "+reason]++
			continue
		}
		checkHeader(t, h, b)
		if !accepted {
			count["accepted, refused by the C library: "+m.Class]++
			continue
		}
		if m.Reads == nil {
			count["accepted, values read by the C library unknown"]++
			continue
		}
		if h.Streaming {
			count["accepted, number of records unknown to the C library"]++
			continue
		}
		count["accepted"]++
		require.Equal(t, len(m.Reads.Vars), len(h.Vars), m.File)
		for i, w := range m.Reads.Vars {
			v := &h.Vars[i]
			assert.Equal(t, w.Type, v.Type.String(), m.File)
			shape := strings.ReplaceAll(string(w.Shape), ",", " ")
			if strings.HasPrefix(shape, `"`) {
				assert.Equal(t, shape, fmt.Sprintf(`"rank %d"`, len(v.Shape)), m.File)
			} else {
				assert.Equal(t, shape, fmt.Sprint(v.Shape), m.File)
			}
			if w.SHA256 != "" && v.Len <= 1<<20 {
				assert.Equal(t, w.SHA256, hashVar(t, bytes.NewReader(b), h, v), "%s %s (%s)", m.File, w.Name, m.Change)
				count["variables hashed"]++
			}
		}
	}
	for k, n := range count {
		t.Logf("%5d %s", n, k)
	}
}
