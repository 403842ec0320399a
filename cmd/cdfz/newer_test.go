package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// newer FILE PLAN: replaces the plan of an archive. The checksums are updated, so that
// the archive looks newer and not damaged. The directory is not updated, since no verb
// gets that far.
func newer(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	b, err := os.ReadFile(name)
	ts.Check(err)
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	ts.Check(err)
	plan, man := z.File[0], z.File[len(z.File)-2]
	at, manAt := headerOff(ts, plan), headerOff(ts, man)

	// Keep the length: one uncompressed deflate block.
	stored := int(plan.CompressedSize64)
	text := args[1] + strings.Repeat(" ", stored-5-len(args[1]))
	block := binary.LittleEndian.AppendUint16([]byte{1}, uint16(len(text)))
	block = append(binary.LittleEndian.AppendUint16(block, ^uint16(len(text))), text...)
	binary.LittleEndian.PutUint32(b[at+14:], crc32.ChecksumIEEE([]byte(text)))
	binary.LittleEndian.PutUint32(b[at+22:], uint32(len(text)))
	copy(b[at+30+len(plan.Name):], block)

	r, err := man.Open()
	ts.Check(err)
	manifest, err := io.ReadAll(r)
	ts.Check(err)
	sums := regexp.MustCompile(`"(front|plan)":(.*?)"crc32":"[0-9a-f]{8}"`)
	manifest = sums.ReplaceAllFunc(manifest, func(m []byte) []byte {
		stored := b[at+30+len(plan.Name):][:stored]
		if bytes.HasPrefix(m, []byte(`"front"`)) {
			var f struct{ Len int }
			ts.Check(json.Unmarshal(append(m[len(`"front":`):], '}'), &f))
			stored = b[:f.Len]
		}
		return fmt.Appendf(m[:len(m)-9:len(m)-9], `%08x"`, crc32.ChecksumIEEE(stored))
	})
	head := bytes.Clone(b[manAt:][:30])
	binary.LittleEndian.PutUint32(head[14:], crc32.ChecksumIEEE(manifest))
	binary.LittleEndian.PutUint32(head[22:], uint32(len(manifest)))
	manifest = append(append(binary.LittleEndian.AppendUint16([]byte{1}, uint16(len(manifest))), byte(len(manifest)^0xffff), byte((len(manifest)^0xffff)>>8)), manifest...)
	binary.LittleEndian.PutUint32(head[18:], uint32(len(manifest)))
	sum := crc32.ChecksumIEEE(manifest)

	// The end line: the new manifest, and the index after it.
	end := strings.Fields(string(b[len(b)-109:]))
	out := append(append(append(b[:manAt:manAt], head...), man.Name...), manifest...)
	line := fmt.Sprintf("cdfz 1 manifest %s %08x %08x index %016x %s %s ", end[3], len(manifest), sum, len(out), end[8], end[9])
	line += fmt.Sprintf("%08x\n", crc32.ChecksumIEEE([]byte(line)))
	out = append(append(out, b[headerOff(ts, z.File[len(z.File)-1]):len(b)-109]...), line...)
	ts.Check(os.WriteFile(name, out, 0o666))
}

// headerOff returns the offset of the local header of an entry.
func headerOff(ts *testscript.TestScript, f *zip.File) int {
	off, err := f.DataOffset()
	ts.Check(err)
	return int(off) - 30 - len(f.Name)
}
