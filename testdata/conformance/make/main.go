// Command make writes the conformance suite: cdfz-conformance-VERSION.tar.gz, whose README.md is that of
// testdata/conformance. Run from the root of the module:
//
//	go run ./testdata/conformance/make -o dist
//
// It has the same bytes each time. The outcomes are those that vectors and lists in testdata name. For hostile archives,
// they are those of the reader in Go, to which the readers in C and Python are compared.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/testdata/conformance"
	"github.com/cdfz-format/cdfz/testdata/hostile"
)

// attacks is how many hostile archives the suite has. largest is the largest image that one may claim.
const (
	attacks = 500
	largest = 4 << 20
)

// testCase is a line of cases.json.
type testCase struct {
	Name       string   `json:"name"`
	Request    string   `json:"request"`
	File       string   `json:"file"`
	Parameters []uint32 `json:"parameters,omitempty"`
	Expect     []string `json:"expect"`
	SHA256     string   `json:"sha256,omitempty"`
	Section    string   `json:"section,omitempty"`
	Comment    string   `json:"comment,omitempty"`
}

// suite is the contents of cases.json, and the files.
type suite struct {
	Suite   int        `json:"suite"`
	Format  int        `json:"format"`
	Version string     `json:"version"`
	Cases   []testCase `json:"cases"`

	files map[string][]byte
}

func main() {
	dir := flag.String("o", "dist", "folder to write to")
	version := flag.String("version", archive.Version, "version in the name")
	flag.Parse()
	if err := run(context.Background(), *dir, *version); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, version string) error {
	s := &suite{Suite: 1, Format: 1, Version: version, files: map[string][]byte{}}
	for _, add := range []func(context.Context) error{s.vectors, s.compat, s.hostile, s.blocks, s.netcdf, s.texts} {
		if err := add(ctx); err != nil {
			return err
		}
	}
	slices.SortFunc(s.Cases, func(a, b testCase) int { return strings.Compare(a.Name, b.Name) })
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	name := "cdfz-conformance-" + version
	out, err := os.Create(filepath.Join(dir, name+".tar.gz"))
	if err != nil {
		return err
	}
	defer out.Close()
	if err := s.write(out, name); err != nil {
		return err
	}
	fmt.Printf("%s: %d cases, %d files\n", out.Name(), len(s.Cases), len(s.files))
	return out.Close()
}

// add adds a case with its file.
func (s *suite) add(c testCase, b []byte) {
	s.files[c.File] = b
	s.Cases = append(s.Cases, c)
}

// addArchive adds an archive with the cases of a reader and of a verifier.
func (s *suite) addArchive(c testCase, b []byte, verifier []string) {
	c.File = "archives/" + c.Name + ".cdfz"
	base := c.Name
	c.Name, c.Request = "archive/"+base, "archive"
	s.add(c, b)
	c.Name, c.Request, c.Expect, c.SHA256 = "verify/"+base, "verify", verifier, ""
	s.add(c, b)
}

// classes are the outcomes as the headers of vectors spell them.
var classes = map[string]string{"image": "image", "ok": "ok", "damage": "damaged", "refuse": "refused"}

func (s *suite) vectors(context.Context) error {
	return each("testdata/vectors/*/*", func(name string, b []byte) error {
		folder := filepath.Base(filepath.Dir(name))
		if folder == "gen" {
			return nil
		}
		head, body, err := conformance.Vector(b)
		if err != nil {
			return err
		}
		s.addArchive(testCase{Name: folder + "/" + filepath.Base(name), Expect: []string{classes[head["expect-reader"]]}, SHA256: head["sha256"],
			Section: head["section"], Comment: head["comment"]}, body, []string{classes[head["expect-verifier"]]})
		return nil
	})
}

func (s *suite) compat(context.Context) error {
	return each("testdata/compat/*/SHA256SUMS", func(name string, b []byte) error {
		if _, err := os.Stat(filepath.Join(filepath.Dir(name), "volumes")); err == nil {
			return nil // its archives are in volumes, which are not part of the suite
		}
		for line := range strings.Lines(string(b)) {
			sum, image, _ := strings.Cut(strings.TrimSpace(line), "  ")
			body, err := os.ReadFile(filepath.Join(filepath.Dir(name), image+".cdfz"))
			if err != nil {
				return err
			}
			s.addArchive(testCase{Name: "compat/" + filepath.Base(filepath.Dir(name)) + "/" + image, Expect: []string{"image"}, SHA256: sum}, body, []string{"ok"})
		}
		return nil
	})
}

// hostile adds archives with false claims and right checksums. They are made from archives that stay as they are, so that
// they do, too.
func (s *suite) hostile(ctx context.Context) error {
	var seeds []*hostile.Archive
	var names []string
	err := each("testdata/compat/1/*.cdfz", func(name string, b []byte) error {
		if len(b) > 4_000 {
			return nil
		}
		a, err := hostile.Parse(b)
		seeds, names = append(seeds, a), append(names, strings.TrimSuffix(filepath.Base(name), ".nc.cdfz"))
		return err
	})
	if err != nil {
		return err
	}
	for n := range int64(attacks) {
		rng := rand.New(rand.NewSource(n))
		i := rng.Intn(len(seeds))
		b := seeds[i].Mutate(rng).Bytes()
		if len(b) > 100_000 {
			continue
		}
		if f, err := archive.New(ctx, bytes.NewReader(b), int64(len(b)), nil); err == nil {
			tooLarge := f.Image().Size() > largest
			f.Close()
			if tooLarge {
				continue
			}
		}
		// Of several faults, any may come first: one of damage, or one to refuse.
		fault := []string{"damaged", "refused"}
		c := testCase{Name: fmt.Sprintf("hostile/%03d-%s", n, names[i]), Expect: []string{"image"}}
		image, err := conformance.Image(ctx, b)
		switch {
		case err == nil:
			c.SHA256 = fmt.Sprintf("%x", sha256.Sum256(image))
		case conformance.Outcome(err) == "error":
			return fmt.Errorf("%s: %w", c.Name, err)
		default:
			c.Expect, c.Comment = fault, err.Error()
		}
		outcome, err := conformance.Verified(ctx, b)
		verifier := []string{outcome}
		if outcome == "error" {
			return fmt.Errorf("%s: %w", c.Name, err)
		} else if outcome != "ok" {
			verifier = fault
		}
		s.addArchive(c, b, verifier)
	}
	return nil
}

func (s *suite) blocks(context.Context) error {
	return each("lorenz/testdata/[bv]*/*", func(name string, b []byte) error {
		head, body, err := conformance.Vector(b)
		if err != nil {
			return err
		}
		kind := map[string]string{"blocks": "rare", "vectors": "usual"}[filepath.Base(filepath.Dir(name))]
		c := testCase{Name: "block/" + kind + "/" + filepath.Base(name), Request: "block", File: "blocks/" + kind + "/" + filepath.Base(name),
			Expect: []string{"damaged"}, SHA256: head["sha256"], Comment: head["comment"]}
		if c.SHA256 != "" {
			c.Expect = []string{"image"}
		}
		for _, x := range strings.Fields(head["parameters"]) {
			n, err := strconv.ParseUint(x, 10, 32)
			if err != nil {
				return err
			}
			c.Parameters = append(c.Parameters, uint32(n))
		}
		s.add(c, body)
		return nil
	})
}

// netcdf adds netCDF files, for programs that write archives.
func (s *suite) netcdf(context.Context) error {
	for folder, expect := range map[string]string{"classic": "image", "malformed": "refused"} {
		table, err := os.ReadFile("testdata/" + folder + "/files.tsv")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(table)) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if strings.HasPrefix(line, "#") {
				continue
			}
			b, err := os.ReadFile("testdata/" + folder + "/" + f[0])
			if err != nil {
				return err
			}
			c := testCase{Name: "netcdf/" + folder + "/" + f[0], Request: "netcdf", File: "netcdf/" + folder + "/" + f[0], Expect: []string{expect}, Comment: f[len(f)-1]}
			if expect == "image" {
				c.SHA256 = fmt.Sprintf("%x", sha256.Sum256(b))
			}
			s.add(c, b)
		}
	}
	return nil
}

// texts adds the runner and what a reader's author reads.
func (s *suite) texts(context.Context) error {
	for to, from := range map[string]string{"README.md": "testdata/conformance/README.md", "run.py": "testdata/conformance/run.py",
		"LICENSE": "LICENSE", "FORMAT.md": "docs/FORMAT.md", "LORENZ.md": "docs/LORENZ.md"} {
		b, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		s.files[to] = b
	}
	return nil
}

// write writes the files as a tar file in gzip's form, with cases.json and SHA256SUMS.
func (s *suite) write(w io.Writer, top string) error {
	list, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	s.files["cases.json"] = append(list, '\n')
	var names []string
	for name := range s.files {
		names = append(names, name)
	}
	slices.Sort(names)
	var sums strings.Builder
	for _, name := range names {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(s.files[name]), name)
	}
	s.files["SHA256SUMS"] = []byte(sums.String())
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, name := range append([]string{"SHA256SUMS"}, names...) {
		mode := int64(0o644)
		if name == "run.py" {
			mode = 0o755
		}
		b := s.files[name]
		if err := t.WriteHeader(&tar.Header{Name: top + "/" + name, Mode: mode, Size: int64(len(b)), ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		if _, err := t.Write(b); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

// each calls f with each file of a pattern, in order of names.
func each(pattern string, f func(name string, b []byte) error) error {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("no files %s: run from the root of the module", pattern)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := f(name, b); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
