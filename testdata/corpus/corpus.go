// Package corpus opens the corpus of classic netCDF files for tests: files written by
// other programs, with the results of other readers. It is too large for this
// repository. CDFZ_CORPUS names its folder. The package also opens the files of
// Debian's package ferret-datasets.
package corpus

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// File is a file of the corpus, in memory or sparse.
type File struct {
	Name   string
	Size   int64
	SHA256 string // "" if unknown
	io.ReaderAt
}

// Bytes returns all bytes of a file.
func (f File) Bytes(t testing.TB) []byte {
	t.Helper()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
	check(t, err)
	return b
}

// WriteFile writes a file from Sparse, keeping it sparse.
func (f File) WriteFile(t testing.TB, name string) {
	t.Helper()
	out, err := os.Create(name)
	check(t, err)
	check(t, out.Truncate(f.Size))
	for _, e := range f.ReaderAt.(*sparse).Extents {
		_, err := out.WriteAt(e.data, e.off)
		check(t, err)
	}
	check(t, out.Close())
}

// Dir returns the folder of the corpus. A test without one fails.
func Dir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("CDFZ_CORPUS")
	if dir == "" {
		t.Fatal("CDFZ_CORPUS is not set: it names the folder with manifest.json")
	}
	return dir
}

type manifest struct{ Valid, Malformed []File }

func load(t testing.TB) (string, manifest) {
	t.Helper()
	dir := Dir(t)
	var m manifest
	b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	check(t, err)
	return dir, m
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Valid calls f for each readable file.
func Valid(t *testing.T, f func(*testing.T, File)) {
	dir, m := load(t)
	for _, v := range m.Valid {
		t.Run(v.Name, func(t *testing.T) {
			b := read(t, filepath.Join(dir, filepath.FromSlash(v.Name)))
			v.ReaderAt = bytes.NewReader(b)
			if v.Size != int64(len(b)) {
				t.Fatalf("%d bytes, expected %d", len(b), v.Size)
			}
			f(t, v)
		})
	}
}

// ferretData is the folder of Debian's ferret-datasets.
const ferretData = "/usr/share/ferret-vis/data"

// Some calls f for every n-th file of Valid, or for all in the soak.
func Some(t *testing.T, n int, f func(*testing.T, File)) {
	i := 0
	Valid(t, func(t *testing.T, file File) {
		if i++; i%n == 0 || os.Getenv("CDFZ_SOAK") != "" {
			f(t, file)
		}
	})
}

// Ferret calls f for each classic file of Debian's ferret-datasets.
func Ferret(t *testing.T, f func(*testing.T, File)) {
	names, err := filepath.Glob(filepath.Join(ferretData, "*"))
	check(t, err)
	found := false
	for _, name := range names {
		b, err := os.ReadFile(name)
		check(t, err)
		if !bytes.HasPrefix(b, []byte("CDF")) {
			continue
		}
		found = true
		t.Run(filepath.Base(name), func(t *testing.T) {
			f(t, File{Name: filepath.Base(name), Size: int64(len(b)), ReaderAt: bytes.NewReader(b)})
		})
	}
	if !found {
		t.Fatal("ferret-datasets is not installed")
	}
}

// Malformed calls f for each broken file.
func Malformed(t *testing.T, f func(File)) {
	dir, m := load(t)
	z, err := zip.OpenReader(filepath.Join(dir, "malformed.zip"))
	check(t, err)
	defer z.Close()
	for _, v := range m.Malformed {
		var b []byte
		if name, ok := strings.CutPrefix(v.Name, "malformed.zip:"); ok {
			r, err := z.Open(name)
			check(t, err)
			b, err = io.ReadAll(r)
			check(t, err)
			r.Close()
		} else {
			b = read(t, filepath.Join(dir, filepath.FromSlash(v.Name)))
		}
		v.ReaderAt = bytes.NewReader(b)
		f(v)
	}
}

// UnmarshalJSON reads an entry of the manifest.
func (f *File) UnmarshalJSON(b []byte) error {
	var e struct {
		File   string
		Size   int64
		SHA256 string
	}
	err := json.Unmarshal(b, &e)
	f.Name, f.Size, f.SHA256 = e.File, e.Size, e.SHA256
	return err
}

// read reads a file, which may be stored with the suffix .gz.
func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		b, err = os.ReadFile(name + ".gz")
		name += ".gz"
	}
	check(t, err)
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(b))
		check(t, err)
		b, err = io.ReadAll(z)
		check(t, err)
	}
	return b
}

// Sparse calls f for each file of many GB, which is zero except for some extents.
func Sparse(t *testing.T, f func(*testing.T, File)) {
	names, err := filepath.Glob(filepath.Join(Dir(t), "sparse", "*.json"))
	check(t, err)
	if len(names) == 0 {
		t.Fatal("no sparse files")
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			b, err := os.ReadFile(name)
			check(t, err)
			s := &sparse{}
			check(t, json.Unmarshal(b, s))
			slices.SortFunc(s.Extents, func(a, b extent) int { return int(a.off - b.off) })
			f(t, File{Name: strings.TrimSuffix(filepath.Base(name), ".json"), Size: s.Size, ReaderAt: s})
		})
	}
}

type extent struct {
	off  int64
	data []byte
}

func (e *extent) UnmarshalJSON(b []byte) error {
	var parts []json.RawMessage
	var text string
	err := json.Unmarshal(b, &parts)
	if err == nil && len(parts) != 2 {
		err = fmt.Errorf("extent %s", b)
	}
	if err == nil {
		err = json.Unmarshal(parts[0], &e.off)
	}
	if err == nil {
		err = json.Unmarshal(parts[1], &text)
	}
	if err == nil {
		e.data, err = hex.DecodeString(text)
	}
	return err
}

type sparse struct {
	Size    int64
	Extents []extent
}

// ReadAt implements io.ReaderAt.
func (s *sparse) ReadAt(p []byte, off int64) (int, error) {
	n := int(max(0, min(int64(len(p)), s.Size-off)))
	clear(p[:n])
	i, _ := slices.BinarySearchFunc(s.Extents, off, func(e extent, off int64) int {
		if e.off+int64(len(e.data)) <= off {
			return -1
		}
		return 1
	})
	for ; i < len(s.Extents) && s.Extents[i].off < off+int64(n); i++ {
		e := s.Extents[i]
		from, to := max(e.off, off), min(e.off+int64(len(e.data)), off+int64(n))
		copy(p[from-off:to-off], e.data[from-e.off:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
