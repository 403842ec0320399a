package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/receiptfile"
)

// byteImage makes a classic file of a byte variable with n random values.
func byteImage(r *rand.Rand, n int) []byte {
	b := []byte("CDF\x01\x00\x00\x00\x00" +
		"\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x00\x00\x01x\x00\x00\x00" + string(binary.BigEndian.AppendUint32(nil, uint32(n))) +
		"\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x0b\x00\x00\x00\x01\x00\x00\x00\x01v\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01" + string(binary.BigEndian.AppendUint32(nil, uint32(n))) + "\x00\x00\x00\x50")
	for range n {
		b = append(b, byte(r.IntN(256)))
	}
	return b
}

func sumOfBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// swapper renames files and folders of a tree while cdfz works on it.
type swapper struct {
	t                         *testing.T
	r                         *rand.Rand
	base, tree, outside, hide string
	folders                   []string        // names below tree and outside
	images                    map[string]bool // SHA-256 of all that were in the tree
	foreign                   map[string]bool // SHA-256 of those that never were
	when                      time.Time
	n                         int
}

const filesPerFolder, swapSize = 6, 2000

func newSwapper(t *testing.T, seed uint64) *swapper {
	base := t.TempDir()
	s := &swapper{t: t, r: rand.New(rand.NewPCG(seed, 3)), base: base, tree: filepath.Join(base, "tree"), outside: filepath.Join(base, "outside"),
		hide: filepath.Join(base, "hide"), folders: []string{"a", "b", filepath.Join("c", "d"), filepath.Join("c", "e")},
		images: map[string]bool{}, foreign: map[string]bool{}, when: time.Unix(1e9, 0)}
	for top, known := range map[string]map[string]bool{s.tree: s.images, s.outside: s.foreign} {
		for _, dir := range s.folders {
			require.NoError(t, os.MkdirAll(filepath.Join(top, dir), 0o777))
			for i := range filesPerFolder {
				s.write(filepath.Join(top, dir, fmt.Sprintf("%d.nc", i)), known)
			}
		}
	}
	require.NoError(t, os.Mkdir(s.hide, 0o777))
	return s
}

// write writes a file of new contents, always with the same size and time.
func (s *swapper) write(name string, known map[string]bool) {
	b := byteImage(s.r, swapSize)
	require.NoError(s.t, os.WriteFile(name, b, 0o666))
	require.NoError(s.t, os.Chtimes(name, s.when, s.when))
	known[sumOfBytes(b)] = true
}

// hidden returns a new name in the folder hide.
func (s *swapper) hidden() string {
	s.n++
	return filepath.Join(s.hide, fmt.Sprint(s.n))
}

// step makes one change below one of the folders, and takes it back unless it is for good. Errors
// are expected: there may be no such folder yet.
func (s *swapper) step(tops ...string) {
	top := tops[s.r.IntN(len(tops))]
	dir := s.folders[s.r.IntN(len(s.folders))]
	if up := filepath.Dir(dir); up != "." && s.r.IntN(3) == 0 {
		dir = up
	}
	folder, hidden := filepath.Join(top, dir), s.hidden()
	exchange := func(a, b string) error {
		return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	}
	wait := func() { time.Sleep(time.Duration(s.r.IntN(1000)) * time.Microsecond) }
	switch s.r.IntN(4) {
	case 0: // a link takes the place of a folder for a while
		require.NoError(s.t, os.Symlink(filepath.Join(s.outside, dir), hidden))
		if exchange(folder, hidden) == nil {
			wait()
			require.NoError(s.t, exchange(folder, hidden))
		}
	case 1: // a folder is away for a while
		if os.Rename(folder, hidden) == nil {
			wait()
			if os.Rename(hidden, folder) != nil { // it was made again
				_ = exchange(hidden, folder)
			}
		}
	case 2: // two folders change places
		_ = exchange(folder, filepath.Join(top, s.folders[s.r.IntN(len(s.folders))]))
	case 3: // another file takes the place of a file
		name := filepath.Join(folder, fmt.Sprintf("%d.nc", s.r.IntN(filesPerFolder)))
		if _, err := os.Lstat(name); err == nil {
			s.write(hidden, s.images)
			_ = exchange(hidden, name)
		}
	}
	if s.r.IntN(2) == 0 {
		wait()
	}
}

// check checks that nothing was lost, and that nothing outside was touched.
func (s *swapper) check(log string) (deleted int) {
	t := s.t
	kept, archived, outside := map[string]bool{}, map[string]bool{}, map[string]bool{}
	require.NoError(t, filepath.WalkDir(s.base, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		in := strings.HasPrefix(name, s.outside+string(filepath.Separator))
		switch {
		case in:
			outside[sumOfBytes(b)] = true
			require.True(t, strings.HasSuffix(name, ".nc"), "%s was made\n%s", name, log)
		case strings.HasSuffix(name, fileio.Suffix):
			w, err := verify.Walk(t.Context(), bytes.NewReader(b), int64(len(b)), nil)
			require.NoError(t, err, name)
			archived[w.SHA256] = true
		case bytes.HasPrefix(b, []byte("CDF")):
			kept[sumOfBytes(b)] = true
		}
		return nil
	}))
	require.Equal(t, s.foreign, outside, "files outside were changed\n%s", log)
	for sum := range archived {
		require.True(t, s.images[sum], "a file outside was archived\n%s", log)
	}
	noTemporaries(t, s.base)
	vouched := map[string]bool{}
	f, err := os.Open(filepath.Join(s.base, "r.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	_, err = receiptfile.Read(f, func(_ int, rec *receiptfile.Receipt) { vouched[rec.SHA256] = true }, func(e *receiptfile.LineError) { require.NoError(t, e) })
	require.NoError(t, err)
	for sum := range s.images {
		if !kept[sum] {
			deleted++
			require.True(t, vouched[sum], "a file was deleted without a receipt\n%s", log)
			require.True(t, archived[sum], "a file was deleted that no archive restores\n%s", log)
		}
	}
	return deleted
}

// TestSwaps archives and deletes trees in which another program swaps folders for links and back,
// renames them, and replaces files by others of the same size and time: no file outside of the
// tree is archived or deleted, and no file is deleted without a receipt and an archive that restores
// it. 4 rounds, 400 in the soak.
func TestSwaps(t *testing.T) {
	rounds := 4
	if os.Getenv("CDFZ_SOAK") != "" {
		rounds = 400
	}
	deleted, steps := 0, 0
	for round := range rounds {
		s := newSwapper(t, uint64(round))
		args := []string{"archive", "-v", "--receipts", filepath.Join(s.base, "r.jsonl"), "--delete-source"}
		tops := []string{s.tree}
		if round%2 == 1 {
			out := filepath.Join(s.base, "out")
			args = append(args, "-o", out+"/")
			tops = append(tops, out)
		}
		if round%4 >= 2 {
			args = append(args, "-f")
		}
		args = append(args, s.tree)
		var stop atomic.Bool
		var group sync.WaitGroup
		group.Go(func() {
			for !stop.Load() {
				s.step(tops...)
				steps++
			}
		})
		var log bytes.Buffer
		for range 3 {
			run(t.Context(), args, nil, &log, &log)
		}
		stop.Store(true)
		group.Wait()
		run(t.Context(), args, nil, &log, &log)
		deleted += s.check(log.String())
		require.NoError(t, os.RemoveAll(s.base))
	}
	t.Logf("%d rounds, %d changes, %d files deleted", rounds, steps, deleted)
	require.Positive(t, deleted)
}
