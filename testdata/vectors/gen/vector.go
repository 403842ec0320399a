package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
)

// vector is one file.
type vector struct {
	name     string
	what     string // the feature of a good one, the fault of a bad one
	reader   string // image, damage or refuse
	verifier string // ok, damage or refuse
	section  string // of docs/FORMAT.md
	archive  *archive
}

const (
	image, ok, damage, refuse = "image", "ok", "damage", "refuse"
)

// bytes returns the file: the header, an empty line and the archive.
func (v *vector) bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "expect-reader: %s\nexpect-verifier: %s\n", v.reader, v.verifier)
	if v.reader == image {
		fmt.Fprintf(&b, "sha256: %x\n", sha256.Sum256(v.archive.image))
	}
	fmt.Fprintf(&b, "section: %s\ncomment: %s\n\n", v.section, v.what)
	b.Write(v.archive.bytes())
	return b.Bytes()
}

// swap replaces a part of a text, which must exist.
func swap(text, old, new string) string {
	if !strings.Contains(text, old) {
		panic(fmt.Sprintf("%q is not in %s", old, text))
	}
	return strings.Replace(text, old, new, 1)
}

// with returns an archive after a change.
func with(a *archive, change func(*archive)) *archive {
	change(a)
	return a
}

// cat joins byte strings.
func cat(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// lossOf returns a member for the manifest, and the name of the next one.
func lossOf(vars string) string {
	return `"loss":{"source_sha256":"` + strings.Repeat("0", 64) + `","vars":[` + vars + `]},"size"`
}
