// Command vectors runs all test vectors of docs/FORMAT.md and docs/LORENZ.md through the reader.
// It prints the first that has another result than it says, and then exits with 3. Run from the
// root of the module.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/lorenz"
	"github.com/cdfz-format/cdfz/testdata/conformance"
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
			head, body, err := conformance.Vector(b)
			if err != nil {
				fmt.Fprintf(os.Stderr, "vectors: %s: %v\n", name, err)
				os.Exit(1)
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
	raw, err := conformance.Block(head["parameters"], body)
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
	found := "image"
	out, err := conformance.Image(context.Background(), body)
	if err != nil {
		found = map[string]string{"damaged": "damage", "refused": "refuse"}[conformance.Outcome(err)]
	}
	if want := head["expect-reader"]; want != found {
		return fmt.Sprintf("expected %s, found %s (%v)", want, found, err)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(out)); found == "image" && sum != head["sha256"] {
		return fmt.Sprintf("expected SHA-256 %s, found %s", head["sha256"], sum)
	}
	return ""
}
