package verify_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
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
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/filters"
	_ "github.com/cdfz-format/cdfz/filters/all" // vectors have filters that only users choose
)

const vectorsDir = "../../testdata/vectors"

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
	text, err := os.ReadFile("../../docs/FORMAT.md")
	require.NoError(t, err)
	for _, folder := range []string{"good", "bad"} {
		for _, v := range archivetest.Vectors(t, folder) {
			t.Run(folder+"/"+v.Name, func(t *testing.T) {
				require.Regexp(t, `(?m)^##+ (Annex )?`+regexp.QuoteMeta(v.Section)+`[. ]`, string(text), "no such section")
				r, size := bytes.NewReader(v.Archive), int64(len(v.Archive))
				var image bytes.Buffer
				f, err := archive.New(t.Context(), r, size, nil)
				if strings.HasPrefix(v.Name, "plan_") && v.Reader == "damage" {
					require.ErrorIs(t, err, archive.ErrCorrupt, "a reader checks all of the plan when it opens")
				}
				if err == nil {
					err = f.Image().Copy(ctx, &image, nil)
				}
				require.Equal(t, v.Reader, outcome(err, "image"), "reader: %v (%s)", err, v.Comment)
				if v.Reader == "image" {
					require.Equal(t, v.SHA256, fmt.Sprintf("%x", sha256.Sum256(image.Bytes())))
					sameValues(t, f, image.Bytes())
				}
				rep, err := verify.Verify(ctx, r, size, nil)
				got := outcome(err, "ok")
				if err == nil && len(rep.Damage) > 0 {
					got = "damage"
				}
				require.Equal(t, v.Verifier, got, "verifier: %v %+v (%s)", err, rep, v.Comment)
			})
		}
	}
}

// sameValues compares the values of all variables with those of the image.
func sameValues(t *testing.T, f *archive.File, image []byte) {
	c, err := archive.New(t.Context(), bytes.NewReader(image), int64(len(image)), nil)
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
	cmd.Dir = "../.."
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

// TestVectorsJSON checks that manifest and plan of the vectors are JSON, except for those whose fault
// this is: others would not be refused for their fault.
func TestVectorsJSON(t *testing.T) {
	for _, v := range append(archivetest.Vectors(t, "good"), archivetest.Vectors(t, "bad")...) {
		for _, name := range []string{"plan", "manifest"} {
			_, rest, found := bytes.Cut(v.Archive, []byte(".cdfz/"+name+".json"))
			if !found || !strings.HasPrefix(v.Name, name) {
				continue
			}
			var text json.RawMessage
			const stored = 5 // bytes of the head of a block of DEFLATE
			rest = rest[stored:]
			err := json.NewDecoder(bytes.NewReader(rest[bytes.IndexByte(rest, '{'):])).Decode(&text)
			notJSON := v.Name == "manifest_zero" || v.Name == "plan_format_rest" || strings.HasPrefix(v.Name, "manifest_json_")
			require.Equal(t, notJSON, err != nil, "%s: %v", v.Name, err)
		}
	}
}
