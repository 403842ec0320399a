package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/filters"
)

const vectorsDir = "../testdata/vectors"

// vector is a file of testdata/vectors, whose README explains the header.
type vector struct {
	name, reader, verifier, sha256, section, comment string

	archive []byte
}

func vectors(t testing.TB, folder string) []vector {
	names, err := filepath.Glob(filepath.Join(vectorsDir, folder, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	var out []vector
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		head, ar, ok := bytes.Cut(b, []byte("\n\n"))
		require.True(t, ok, name)
		v := vector{name: filepath.Base(name), archive: ar}
		for line := range strings.Lines(string(head)) {
			key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			require.True(t, ok, name)
			field, known := map[string]*string{"expect-reader": &v.reader, "expect-verifier": &v.verifier, "sha256": &v.sha256,
				"section": &v.section, "comment": &v.comment}[key]
			require.True(t, known, "%s: %s", name, key)
			*field = value
		}
		out = append(out, v)
	}
	return out
}

// outcome names an error in the terms of docs/FORMAT.md.
func outcome(err error, none string) string {
	switch {
	case err == nil:
		return none
	case errors.Is(err, archive.ErrNotArchive), errors.Is(err, archive.ErrVersion), errors.Is(err, filters.ErrUnknownFilter):
		return "refuse"
	case errors.Is(err, archive.ErrCorrupt):
		return "damage"
	}
	return err.Error()
}

// TestVectors runs the published vectors through reader and verifier.
func TestVectors(t *testing.T) {
	ctx := context.Background()
	text, err := os.ReadFile("../docs/FORMAT.md")
	require.NoError(t, err)
	for _, folder := range []string{"good", "bad"} {
		for _, v := range vectors(t, folder) {
			t.Run(folder+"/"+v.name, func(t *testing.T) {
				require.Regexp(t, `(?m)^##+ (Annex )?`+regexp.QuoteMeta(v.section)+`[. ]`, string(text), "no such section")
				r, size := bytes.NewReader(v.archive), int64(len(v.archive))
				var image bytes.Buffer
				f, err := archive.New(r, size, nil)
				if strings.HasPrefix(v.name, "plan_") && v.reader == "damage" {
					require.ErrorIs(t, err, archive.ErrCorrupt, "a reader checks all of the plan when it opens")
				}
				if err == nil {
					err = f.Image().Copy(ctx, &image, nil)
				}
				require.Equal(t, v.reader, outcome(err, "image"), "reader: %v (%s)", err, v.comment)
				if v.reader == "image" {
					require.Equal(t, v.sha256, fmt.Sprintf("%x", sha256.Sum256(image.Bytes())))
					sameValues(t, f, image.Bytes())
				}
				rep, err := verify.Verify(ctx, r, size, nil)
				got := outcome(err, "ok")
				if err == nil && len(rep.Damage) > 0 {
					got = "damage"
				}
				require.Equal(t, v.verifier, got, "verifier: %v %+v (%s)", err, rep, v.comment)
			})
		}
	}
}

// TestVectorsLater checks that archives of a later format are neither repaired nor salvaged
// by the rules of this one, even if they are damaged elsewhere.
func TestVectorsLater(t *testing.T) {
	ctx := context.Background()
	damaged := map[string]string{"end_line_later": `"format":1`, "plan_format_later": "cdfz 1 manifest", "plan_feature": "cdfz 1 manifest"}
	for _, v := range vectors(t, "bad") {
		other, ok := damaged[v.name]
		if !ok {
			continue
		}
		delete(damaged, v.name)
		_, err := archive.New(bytes.NewReader(v.archive), int64(len(v.archive)), nil)
		require.ErrorIs(t, err, archive.ErrVersion, v.name)
		want := err.Error()
		for range 2 {
			r, size := bytes.NewReader(v.archive), int64(len(v.archive))
			_, err = repair.Repair(ctx, r, size, nil)
			require.EqualError(t, err, want, "%s: repair", v.name)
			_, err = repair.Salvage(ctx, r, size, nil)
			require.EqualError(t, err, want, "%s: salvage", v.name)
			v.archive = bytes.Replace(v.archive, []byte(other), []byte(strings.ToUpper(other)), 1)
		}
	}
	require.Empty(t, damaged)
}

// sameValues compares the values of all variables with those of the image.
func sameValues(t *testing.T, f *archive.File, image []byte) {
	c, err := archive.New(bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)
	for i, v := range f.Vars() {
		n := v.Type().Size()
		for _, d := range v.Shape() {
			n *= d
		}
		got, want := make([]byte, n), make([]byte, n)
		_, err := v.Values().ReadAt(got, 0)
		require.NoError(t, err)
		_, err = c.Array(i).Values().ReadAt(want, 0)
		require.NoError(t, err)
		require.Equal(t, want, got, v.Name())
	}
}

// TestVectorsMade checks that the committed vectors are the output of their program.
func TestVectorsMade(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("go", "run", "./testdata/vectors/gen", "-d", dir)
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, folder := range []string{"good", "bad"} {
		made, err := os.ReadDir(filepath.Join(dir, folder))
		require.NoError(t, err)
		kept, err := os.ReadDir(filepath.Join(vectorsDir, folder))
		require.NoError(t, err)
		require.Len(t, kept, len(made))
		for _, e := range made {
			want, err := os.ReadFile(filepath.Join(dir, folder, e.Name()))
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(vectorsDir, folder, e.Name()))
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), e.Name())
		}
	}
}
