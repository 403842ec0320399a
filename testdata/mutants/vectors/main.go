// Command vectors runs all test vectors of docs/FORMAT.md and docs/LORENZ.md through the reader.
// It prints the first that has another result than it says, and then exits with 3. Run from the
// root of the module.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/filters"
	_ "github.com/cdfz-format/cdfz/filters/all" // vectors have filters that only users choose
	"github.com/cdfz-format/cdfz/lorenz"
)

func main() {
	for _, run := range []struct {
		folder string
		vector func(head map[string]string, body []byte) string
	}{
		{"lorenz/testdata/blocks", block},
		{"lorenz/testdata/vectors", block},
		{"testdata/vectors/bad", image},
		{"testdata/vectors/good", image},
	} {
		names, err := filepath.Glob(filepath.Join(run.folder, "*"))
		if err != nil || len(names) == 0 {
			fmt.Fprintln(os.Stderr, "vectors: no files in", run.folder)
			os.Exit(1)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				fmt.Fprintln(os.Stderr, "vectors:", err)
				os.Exit(1)
			}
			text, body, _ := bytes.Cut(b, []byte("\n\n"))
			head := map[string]string{}
			for line := range strings.Lines(string(text)) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				head[key] = value
			}
			if fault := run.vector(head, body); fault != "" {
				fmt.Printf("%s: %s", name, fault)
				os.Exit(3)
			}
		}
	}
}

// block decodes a block of lorenz as a whole. It returns how the result differs, or "".
func block(head map[string]string, body []byte) string {
	var params []uint32
	for _, x := range strings.Fields(head["parameters"]) {
		n, err := strconv.ParseUint(x, 10, 32)
		if err != nil {
			return err.Error()
		}
		params = append(params, uint32(n))
	}
	p, err := lorenz.ParseParams(params)
	if err != nil {
		return err.Error()
	}
	d, err := lorenz.NewDecoder(p)
	if err != nil {
		return err.Error()
	}
	n := p.Type.Size()
	for _, dim := range p.Dims {
		n *= dim
	}
	raw := make([]byte, n)
	err = d.Decode(raw, body)
	switch want, found := head["sha256"], fmt.Sprintf("%x", sha256.Sum256(raw)); {
	case want == "" && !errors.Is(err, lorenz.ErrCorrupt):
		return fmt.Sprintf("expected a corrupt block, found %v", err)
	case want != "" && err != nil:
		return err.Error()
	case want != "" && want != found:
		return fmt.Sprintf("expected SHA-256 %s, found %s", want, found)
	}
	return ""
}

// image restores the image of an archive. It returns how the result differs, or "".
func image(head map[string]string, body []byte) string {
	ctx := context.Background()
	var out bytes.Buffer
	f, err := archive.New(ctx, bytes.NewReader(body), int64(len(body)), nil)
	if err == nil {
		err = f.Image().Copy(ctx, &out, nil)
	}
	found := "image"
	switch {
	case err == nil:
	case errors.Is(err, archive.ErrNotArchive), errors.Is(err, archive.ErrVersion), errors.Is(err, filters.ErrUnknownFilter):
		found = "refuse"
	case errors.Is(err, archive.ErrCorrupt):
		found = "damage"
	default:
		return err.Error()
	}
	if want := head["expect-reader"]; want != found {
		return fmt.Sprintf("expected %s, found %s (%v)", want, found, err)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(out.Bytes())); found == "image" && sum != head["sha256"] {
		return fmt.Sprintf("expected SHA-256 %s, found %s", head["sha256"], sum)
	}
	return ""
}
