package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
)

// What people do to files by hand. Each method returns what it did, or "".

// newSource writes a netCDF file with values of its own. All files of one name have the same
// size, so that only their bytes and times differ. Few are of HDF5, which cdfz does not archive.
func (s *sequence) newSource(name string) { s.newSourceAt(name, s.byHand(name)) }

func (s *sequence) newSourceAt(name, file string) {
	n := 16
	if strings.HasPrefix(path.Base(name), "pr") {
		n = 3000
	}
	b := []byte("CDF\x01")
	word := func(list ...uint32) {
		for _, v := range list {
			b = binary.BigEndian.AppendUint32(b, v)
		}
	}
	word(0, 10, 1, 1)
	b = append(b, "x\x00\x00\x00"...)
	word(uint32(n), 0, 0, 11, 1, 1)
	b = append(b, "v\x00\x00\x00"...)
	word(1, 0, 0, 0, 5, uint32(4*n), 0)
	binary.BigEndian.PutUint32(b[len(b)-4:], uint32(len(b)))
	first := s.r.Uint32()
	for i := range n {
		word(first&0x3fff_ffff + uint32(i)*64 + s.r.Uint32N(64))
	}
	if s.oneIn(20) {
		copy(b, "\x89HDF\r\n\x1a\n")
	}
	require.NoError(s.t, os.MkdirAll(filepath.Dir(file), 0o755))
	if st, err := os.Lstat(file); err == nil && !st.Mode().IsRegular() { // a link, or what an overlay makes of a deleted file
		require.NoError(s.t, os.Remove(file))
	}
	require.NoError(s.t, os.WriteFile(file, b, 0o644))
	s.touched(file)
	s.names[imageOf(b)] = name
}

// touched sets a time. They are among few, so that equal sizes and times of different files occur.
func (s *sequence) touched(file string) {
	when := time.Unix(1_600_000_000+s.r.Int64N(3)*86400, 0)
	require.NoError(s.t, os.Chtimes(file, when, when))
}

func (s *sequence) write() string {
	name := path.Join(s.pick(append(proofTrees, "over.upper")), s.pick(proofFiles))
	if s.mounts.named && s.oneIn(4) {
		name = path.Join("mem", s.pick(proofFiles))
	}
	s.newSource(name)
	return "write " + name
}

// inMemory writes a source where nothing is durable.
func (s *sequence) inMemory() string {
	if s.mounts.named {
		return ""
	}
	name := path.Join("mem", s.pick(proofFiles))
	s.newSourceAt(name, filepath.Join(s.dir, name))
	return "write " + name + ", in memory"
}

// one returns a random file with a suffix, or "".
func (s *sequence) one(suffix string) string {
	if list := s.files(suffix); len(list) > 0 {
		return s.pick(list)
	}
	return ""
}

func (s *sequence) oneOfBoth() string { return s.one(s.pick([]string{".nc", fileio.Suffix})) }

// rot changes a byte of a source, but neither its size nor its time.
func (s *sequence) rot() string {
	name := s.one(".nc")
	if name == "" {
		return ""
	}
	s.flip(name, 80)
	return "rot " + name
}

func (s *sequence) flip(name string, from int) {
	file := s.byHand(name)
	st, err := os.Stat(file)
	require.NoError(s.t, err)
	b, err := os.ReadFile(file)
	require.NoError(s.t, err)
	if len(b) <= from {
		return
	}
	b[from+s.r.IntN(len(b)-from)] ^= 1 << s.r.IntN(8)
	require.NoError(s.t, os.WriteFile(file, b, 0o644))
	require.NoError(s.t, os.Chtimes(file, st.ModTime(), st.ModTime()))
}

func (s *sequence) remove() string {
	name := s.oneOfBoth()
	if name == "" {
		return ""
	}
	require.NoError(s.t, os.Remove(s.byHand(name)))
	return "remove " + name
}

// move renames a source, an archive, or a tree.
func (s *sequence) move() string {
	from, to := s.oneOfBoth(), path.Join(s.pick(proofTrees), s.pick(proofFiles))
	switch {
	case s.oneIn(2):
		from, to = s.pick(append(proofTrees, "out")), s.pick(append(proofTrees, "out", "moved"))
		if _, err := os.Stat(s.byHand(from)); err != nil || from == to {
			return ""
		}
		if err := os.Rename(s.byHand(to), s.byHand(to)+".old"); err != nil && !os.IsNotExist(err) {
			return ""
		}
	case from == "" || from == to:
		return ""
	case strings.HasSuffix(from, fileio.Suffix) != s.oneIn(8): // otherwise with the suffix of the other kind
		to += fileio.Suffix
	}
	require.NoError(s.t, os.MkdirAll(filepath.Dir(s.byHand(to)), 0o755))
	if err := os.Rename(s.byHand(from), s.byHand(to)); err != nil {
		return ""
	}
	return "move " + from + " to " + to
}

// swap exchanges two trees or two files.
func (s *sequence) swap() string {
	a, b := s.pick(append(proofTrees, "out")), s.pick(proofTrees)
	if s.oneIn(2) {
		a, b = s.one(fileio.Suffix), s.one(fileio.Suffix)
	}
	if a == b || a == "" || b == "" || unix.Renameat2(unix.AT_FDCWD, s.byHand(a), unix.AT_FDCWD, s.byHand(b), unix.RENAME_EXCHANGE) != nil {
		return ""
	}
	return "swap " + a + " and " + b
}

// relink lets a link lead to another tree.
func (s *sequence) relink() string {
	link, tree := "to-"+s.pick(proofTrees), s.pick(append(proofTrees, "out"))
	require.NoError(s.t, os.Remove(s.byHand(link)))
	require.NoError(s.t, os.Symlink(tree, s.byHand(link)))
	return "relink " + link + " to " + tree
}

// sync copies archives, as rsync does: from anywhere to another tree or to memory.
func (s *sequence) sync() string {
	from, to := s.pick(append(proofTrees, "out")), s.pick([]string{"mem", "mem/out", "second", "out"})
	n := 0
	for _, name := range s.files(fileio.Suffix) {
		if !below(name, from) || below(to, from) {
			continue
		}
		file := filepath.Join(s.dir, to, strings.TrimPrefix(name, from))
		old, err := os.Stat(file)
		st, err2 := os.Stat(s.byHand(name))
		b, err3 := os.ReadFile(s.byHand(name))
		require.NoError(s.t, err2)
		require.NoError(s.t, err3)
		if err == nil && (old.ModTime().After(st.ModTime()) || !s.oneIn(4)) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return ""
		}
		if err := os.WriteFile(file, b, 0o644); err != nil { // a view
			return ""
		}
		require.NoError(s.t, os.Chtimes(file, st.ModTime(), st.ModTime()))
		n++
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("sync %s to %s: %d archives", from, to, n)
}

// link gives a file a second name.
func (s *sequence) link() string {
	from, to := s.oneOfBoth(), path.Join(s.pick(append(proofTrees, "second")), s.pick(proofFiles))
	if from == "" || below(from, "mem") {
		return ""
	}
	if strings.HasSuffix(from, fileio.Suffix) {
		to += fileio.Suffix
	}
	require.NoError(s.t, os.MkdirAll(filepath.Dir(s.byHand(to)), 0o755))
	call, what := os.Link, "link "
	if s.oneIn(3) {
		call, what, from = os.Symlink, "symlink ", filepath.Join(s.dir, from)
	} else {
		from = s.byHand(from)
	}
	if call(from, s.byHand(to)) != nil {
		return ""
	}
	return what + s.show([]string{from}) + " as " + to
}

func (s *sequence) damage() string {
	name := s.one(s.pick([]string{fileio.Suffix, fileio.Suffix, volume.Suffix}))
	if name == "" {
		return ""
	}
	if st, err := os.Stat(s.byHand(name)); err == nil && st.Size() > 0 && s.oneIn(3) {
		require.NoError(s.t, os.Truncate(s.byHand(name), st.Size()-1-s.r.Int64N(st.Size())))
		return "damage " + name + " by cutting it"
	}
	s.flip(name, 0)
	return "damage " + name
}

func (s *sequence) touch() string {
	name := s.oneOfBoth()
	if name == "" {
		return ""
	}
	s.touched(s.byHand(name))
	return "touch " + name
}

// merge joins files of receipts.
func (s *sequence) merge() string {
	const to = "merged.jsonl"
	var from []string
	var all []byte
	for _, name := range s.files(".jsonl") {
		if name == to || s.broken[name] || s.oneIn(3) {
			continue
		}
		b, err := os.ReadFile(s.byHand(name))
		require.NoError(s.t, err)
		from, all = append(from, name), append(all, b...)
	}
	if len(from) < 2 || s.broken[to] {
		return ""
	}
	delete(s.proofs, to)
	require.NoError(s.t, os.WriteFile(s.byHand(to), all, 0o644))
	s.readProofs()
	return "merge " + strings.Join(from, " ") + " to " + to
}

// counted returns the number of lines that the head of a file of receipts counts. A source is
// deleted only when its line is counted.
func (s *sequence) counted(b []byte) int {
	var head struct{ Lines int }
	text, _, _ := bytes.Cut(b, []byte{'\n'})
	require.NoError(s.t, json.Unmarshal(text, &head))
	return head.Lines
}

// tamper damages a file of receipts.
func (s *sequence) tamper() string {
	name := s.one(".jsonl")
	if name == "" || name == "merged.jsonl" || s.broken[name] || s.r.IntN(2) > 0 {
		return ""
	}
	b, err := os.ReadFile(s.byHand(name))
	require.NoError(s.t, err)
	old := bytes.Clone(b)
	lines := bytes.SplitAfter(b, []byte{'\n'})
	if len(lines) < 3 { // a line and the empty rest
		return ""
	}
	i := s.r.IntN(len(lines) - 1)
	what := ""
	switch s.r.IntN(5) {
	case 0:
		what, b = "cut", b[:s.r.IntN(len(b))]
	case 1:
		what, b = "empty", nil
	case 2:
		what, b = fmt.Sprintf("without line %d", i+1), bytes.Join(slices.Delete(lines, i, i+1), nil)
	case 3:
		j := (i + 1) % (len(lines) - 1)
		lines[i], lines[j] = lines[j], lines[i]
		what, b = fmt.Sprintf("with lines %d and %d exchanged", i+1, j+1), bytes.Join(lines, nil)
	case 4:
		at := bytes.IndexAny(b, "0123456789")
		at += s.r.IntN(len(b) - at - 1)
		if b[at] == '\n' || b[at+1] == '\n' {
			return ""
		}
		b[at] ^= 1
		what = fmt.Sprintf("with byte %d changed", at)
	}
	if bytes.HasPrefix(old, b) && bytes.Count(b, []byte{'\n'}) > s.counted(old) {
		return "" // as if a run had been killed earlier
	}
	require.NoError(s.t, os.WriteFile(s.byHand(name), b, 0o644))
	s.broken[name] = true
	return "tamper " + name + ": " + what
}
