package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/internal/nstest"
)

// TestProofs runs random sequences of what archivists do over trees whose targets collide, with
// several names for each path, on disks, in memory, on overlays and on what cdfz mounts. After every
// command, each netCDF file that existed on a durable place before it must still exist there, as
// itself or in an archive that restores it, unless the command was told to replace exactly that. What
// cdfz states must be true: receipts that are confirmed, archives that verify calls proved, originals that
// verify --against calls the same, and copies that a deleted source has.
//
// The oracle knows no rule of cdfz. It looks at the disk through a mount that shows no other
// mounts, so that it sees neither memory nor views, but what they hide.
//
// 300 sequences, 30 with -short, 10,000 in the soak. The seed of each is its number.
// CDFZ_PROOF_SEED=N or N+COUNT runs others.
func TestProofs(t *testing.T) {
	if !nstest.Enter(t) {
		return
	}
	sequences := 300
	switch {
	case os.Getenv("CDFZ_SOAK") != "":
		sequences = 10_000
	case testing.Short():
		sequences = 30
	}
	first := 0
	if s := os.Getenv("CDFZ_PROOF_SEED"); s != "" {
		sequences = 1
		_, err := fmt.Sscanf(s+"+1", "%d+%d", &first, &sequences)
		require.NoError(t, err)
	}
	counts := &proofCounts{n: map[string]int{}}
	// Most of the time is spent on waiting for the disk.
	var wg sync.WaitGroup
	next := make(chan int)
	for range 4 {
		wg.Go(func() {
			for seed := range next {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					s := newSequence(t, uint64(seed), counts)
					for range 6 + s.r.IntN(16) {
						s.step()
					}
					if os.Getenv("CDFZ_PROOF_SEED") != "" {
						t.Log(strings.Join(s.log, "\n"))
					}
				})
			}
		})
	}
	for n := range sequences {
		if t.Failed() {
			break
		}
		next <- first + n
	}
	close(next)
	wg.Wait()
	for _, what := range slices.Sorted(maps.Keys(counts.n)) {
		t.Logf("%6d %s", counts.n[what], what)
	}
}

// proofCounts counts what happened, for all sequences.
type proofCounts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *proofCounts) add(n int, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[fmt.Sprintf(format, args...)] += n
}

// image is the SHA-256 of a netCDF file, in hexadecimal.
type image string

// sequence is one random sequence of steps in a folder.
type sequence struct {
	t      *testing.T
	r      *rand.Rand
	seed   uint64
	dir    string // where commands work
	eye    string // the same folder, without what is mounted in it
	exe    string // cdfz
	mounts proofMounts
	counts *proofCounts
	names  map[image]string            // where each image appeared first
	proofs map[string][]*claim         // of receipts files, all receipts ever seen in them
	broken map[string]bool             // receipts files that were damaged
	states map[string]map[image]string // of state files, the images that were proved, and where last
	opened map[[32]byte]image          // archives that were restored before, by SHA-256
	log    []string                    // of the steps, for failures
}

// claim is what one receipt says.
type claim struct {
	Source  string `json:"source"`
	Archive string `json:"archive"`
	SHA256  image  `json:"sha256"`
}

func newSequence(t *testing.T, seed uint64, counts *proofCounts) *sequence {
	s := &sequence{
		t: t, r: rand.New(rand.NewPCG(seed, 42)), seed: seed, counts: counts,
		names: map[image]string{}, proofs: map[string][]*claim{}, broken: map[string]bool{},
		states: map[string]map[image]string{}, opened: map[[32]byte]image{},
	}
	s.makePlaces()
	for _, tree := range proofTrees {
		for range 1 + s.r.IntN(4) {
			s.newSource(path.Join(tree, s.pick(proofFiles)))
		}
	}
	s.mountView()
	for range s.r.IntN(3) {
		s.archive()
	}
	return s
}

func (s *sequence) pick(list []string) string { return list[s.r.IntN(len(list))] }

// oneIn is true once in n times.
func (s *sequence) oneIn(n int) bool { return s.r.IntN(n) == 0 }

func (s *sequence) say(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *sequence) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("sequence %d: %s\n%s", s.seed, fmt.Sprintf(format, args...), strings.Join(s.log, "\n"))
}

func imageOf(b []byte) image {
	sum := sha256.Sum256(b)
	return image(hex.EncodeToString(sum[:]))
}

// The oracle.

// holder is a file that holds an image.
type holder struct {
	name    string // below the folder of the sequence
	archive bool
	file    fileID
}

// fileID tells files apart that are not names of the same file.
type fileID struct{ dev, ino uint64 }

func idOf(st fs.FileInfo) fileID {
	sys := st.Sys().(*syscall.Stat_t)
	return fileID{uint64(sys.Dev), sys.Ino}
}

// walk calls f for all files on durable places, with their names below the folder of the sequence. Other
// programs may remove files meanwhile.
func (s *sequence) walk(f func(name, file string)) {
	for at, root := range s.durable() {
		require.NoError(s.t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				if os.IsNotExist(err) {
					return nil
				}
				return err
			}
			name, err := filepath.Rel(root, file)
			require.NoError(s.t, err)
			switch name = path.Join(at, name); {
			case d.IsDir() && s.lost(name):
				return fs.SkipDir
			case d.Type().IsRegular():
				f(name, file)
			}
			return nil
		}))
	}
}

// files returns the files on durable places that have a suffix.
func (s *sequence) files(suffix string) []string {
	var out []string
	s.walk(func(name, _ string) {
		if strings.HasSuffix(name, suffix) {
			out = append(out, name)
		}
	})
	slices.Sort(out)
	return out
}

// held returns the images that exist on durable places, with the files that hold them. Complete files with
// temporary names are none: nothing has promised to keep them.
func (s *sequence) held() map[image][]holder {
	out := map[image][]holder{}
	s.walk(func(name, file string) {
		if strings.Contains(name, ".cdfz-tmp") {
			return
		}
		b, err := os.ReadFile(file)
		require.NoError(s.t, err)
		st, err := os.Stat(file)
		require.NoError(s.t, err)
		if sum, isArchive := s.holds(b); sum != "" {
			out[sum] = append(out[sum], holder{name, isArchive, idOf(st)})
		}
		for member, b := range s.members(name, b) {
			if sum, isArchive := s.holds(b); sum != "" {
				out[sum] = append(out[sum], holder{name + "/" + member, isArchive, idOf(st)})
			}
		}
	})
	return out
}

// members returns the files in a volume, by its index or its headers. There are none in other files.
func (s *sequence) members(name string, b []byte) map[string][]byte {
	if path.Ext(name) != volume.Suffix {
		return nil
	}
	ctx := s.t.Context()
	size := int64(len(b))
	v, err := volume.Open(ctx, bytes.NewReader(b), size)
	if err != nil {
		if v, err = volume.Rebuild(ctx, bytes.NewReader(b), size, err); err != nil {
			return nil
		}
	}
	defer v.Close()
	out := map[string][]byte{}
	for e, err := range v.Members(ctx, "") {
		if err != nil {
			break
		}
		r, n, err := v.Contents(ctx, e)
		if err != nil {
			continue
		}
		text := make([]byte, n)
		if _, err := r.ReadAt(text, 0); err == nil || err == io.EOF {
			out[e.Path] = text
		}
	}
	return out
}

// read reads a file, or a member of a volume. If a folder has the name of a volume, it reads the file in this folder. Such
// folders come from archives of what cdfz mount shows of a volume.
func (s *sequence) read(file string) ([]byte, error) {
	of, member, ok := strings.Cut(file, volume.Suffix+"/")
	if st, err := os.Stat(of + volume.Suffix); ok && (err != nil || !st.IsDir()) {
		b, err := os.ReadFile(of + volume.Suffix)
		return s.members(of+volume.Suffix, b)[member], err
	}
	return os.ReadFile(file)
}

// holds returns the image that a file holds, by its bytes, or "".
func (s *sequence) holds(b []byte) (sum image, isArchive bool) {
	if bytes.HasPrefix(b, []byte("CDF")) || bytes.HasPrefix(b, []byte("\x89HDF")) {
		return imageOf(b), false
	}
	if !bytes.Contains(b, []byte("cdfz")) && !bytes.HasPrefix(b, []byte("PK")) {
		return "", false
	}
	key := sha256.Sum256(b)
	sum, ok := s.opened[key]
	if !ok {
		sum = restored(b)
		s.opened[key] = sum
	}
	return sum, true
}

// restored returns the image that an archive restores, by its index or by its local headers, or
// "".
func restored(b []byte) image {
	size := int64(len(b))
	if f, err := archive.New(context.Background(), bytes.NewReader(b), size, nil); err == nil {
		img := f.Image()
		text := make([]byte, img.Size())
		if _, err := img.ReadAt(text, 0); err == nil || err == io.EOF {
			info, ok := f.Info()
			if sum := imageOf(text); ok && string(sum) == info.SHA256 {
				return sum
			}
		}
	}
	w, err := verify.Walk(context.Background(), bytes.NewReader(b), size, nil)
	if err != nil {
		return ""
	}
	return image(w.SHA256)
}

// command is a command with what its user has told it.
type command struct {
	args     []string
	inputs   int      // number of the arguments at the end that are a target and files
	receipts []string // files and folders of receipts that it is given
	into     []string // where it may replace and delete what exists, if it is told to: names of files and folders
	other    bool     // it is told to replace other files there
	removes  bool     // it is told to remove old archives there
	deletes  bool     // it is told to delete sources
	copies   bool     // only if there are two archives
	code     int
	out      string
}

// run runs commands with do and checks that they lose nothing.
func (s *sequence) run(commands []*command, kind string, do func()) {
	before := s.held()
	do()
	after := s.held()
	for _, c := range commands {
		s.counts.add(1, "command %s%s, exit %d", c.args[0], kind, c.code)
		if c.code < -1 || c.code > 4 {
			s.fail("exit code %d", c.code)
		}
	}
	known := maps.Clone(s.proofs)
	s.readProofs()
	for sum, where := range before {
		if len(after[sum]) > 0 {
			continue
		}
		if !s.told(sum, where, known, commands) {
			s.fail("nothing holds %s, first %s, any more. Before this step, these held it: %v", sum[:8], s.names[sum], where)
		}
		s.counts.add(1, "images replaced, as told")
	}
	s.checkDeleted(before, after, commands)
	s.counts.add(len(before), "images looked for")
}

// told reports whether the user has asked for the loss of an image: it is only where a command was told
// to replace other files, and no receipt that this command was given vouches for it. Receipts vouch for archives.
// If two commands run at the same time, the other one may have made that archive and deleted the source just before.
func (s *sequence) told(sum image, where []holder, known map[string][]*claim, commands []*command) bool {
	deletes := slices.ContainsFunc(commands, func(c *command) bool { return c.deletes })
	for _, h := range where {
		if !slices.ContainsFunc(commands, func(c *command) bool {
			within := slices.ContainsFunc(c.into, func(dir string) bool { return below(h.name, dir) })
			switch {
			case h.archive:
				return within && (c.other || c.removes) && !s.vouched(sum, known, c)
			case within && c.other:
				return true
			}
			return len(commands) > 1 && deletes && (c.other || c.removes) && !s.vouched(sum, known, c)
		}) {
			return false
		}
	}
	return true
}

// below reports whether a name is a folder, or below it. All names are below "".
func below(name, dir string) bool {
	return dir == "" || name == dir || strings.HasPrefix(name, dir+"/")
}

// vouched reports whether a receipt that a command was given is about an image.
func (s *sequence) vouched(sum image, known map[string][]*claim, c *command) bool {
	for name, claims := range known {
		if slices.ContainsFunc(c.receipts, func(given string) bool { return below(name, given) }) &&
			slices.ContainsFunc(claims, func(c *claim) bool { return c.SHA256 == sum }) {
			return true
		}
	}
	return false
}

// checkDeleted checks that sources which disappeared have receipts on a durable place, and as many archives as
// were asked for.
func (s *sequence) checkDeleted(before, after map[image][]holder, commands []*command) {
	var deletes []*command
	for _, c := range commands {
		if c.args[0] != "archive" && c.args[0] != "run" {
			return
		}
		if c.deletes {
			deletes = append(deletes, c)
		}
	}
	exist := map[string]bool{}
	for _, list := range after {
		for _, h := range list {
			exist[h.name] = true
		}
	}
	for sum, list := range before {
		for _, h := range list {
			if h.archive || exist[h.name] || slices.ContainsFunc(commands, func(c *command) bool {
				return c.other && slices.ContainsFunc(c.into, func(dir string) bool { return below(h.name, dir) })
			}) {
				continue
			}
			s.counts.add(1, "sources deleted")
			if !slices.ContainsFunc(deletes, func(c *command) bool { return s.vouched(sum, s.proofs, c) }) {
				s.fail("%s is gone, and no command has a receipt for it", h.name)
			}
			disks := map[uint64]bool{}
			for _, h := range after[sum] {
				disks[h.file.dev] = true
			}
			if len(commands) == 1 && commands[0].copies && len(disks) < 2 {
				s.fail("%s is gone, and expected archives of it on 2 file systems, found %v", h.name, after[sum])
			}
		}
	}
}

// Receipts.

// readProofs adds the receipts of all files on durable places to those that were seen before.
func (s *sequence) readProofs() {
	for _, name := range s.files(".jsonl") {
		if s.broken[name] {
			continue
		}
		b, err := os.ReadFile(s.byHand(name))
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(s.t, err)
		for text := range bytes.Lines(b) {
			c := new(claim)
			if json.Unmarshal(text, c) != nil || c.Archive == "" {
				continue
			}
			if !slices.ContainsFunc(s.proofs[name], func(d *claim) bool { return *d == *c }) {
				s.proofs[name] = append(s.proofs[name], c)
			}
		}
	}
}

// confirmed checks a file of receipts that the command has confirmed.
func (s *sequence) confirmed(name string) {
	if s.broken[name] {
		s.fail("%s was damaged, and is confirmed", name)
	}
	for _, c := range s.proofs[name] {
		// An archive that was replaced has a longer name in its folder.
		kept, err := filepath.Glob(strings.TrimSuffix(c.Archive, fileio.Suffix) + ".*" + fileio.Suffix)
		require.NoError(s.t, err)
		if !slices.ContainsFunc(append(kept, c.Archive), func(file string) bool {
			b, err := s.read(file)
			sum, _ := s.holds(b)
			return err == nil && sum == c.SHA256
		}) {
			s.fail("%s is confirmed, but %s does not restore %s", name, c.Archive, c.SHA256[:8])
		}
		s.counts.add(1, "receipts confirmed")
	}
}

// States of verify.

// proved checks what verify --state has stated about a folder with exit code 0: all archives there restore, and
// what it had proved there before is not lost, unless the user accepts that.
func (s *sequence) proved(state, tree string, accept bool, code int) {
	known := s.states[state]
	if known == nil {
		known = map[image]string{}
		s.states[state] = known
	}
	held := s.held()
	all := map[string]image{}
	for sum, list := range held {
		for _, h := range list {
			all[h.name] = sum
		}
	}
	for _, name := range s.files(fileio.Suffix) {
		if code == 0 && below(name, tree) && !strings.Contains(path.Base(name), ".cdfz-") && all[name] == "" {
			s.fail("%s is proved, but %s does not restore", state, name)
		}
	}
	for sum, name := range known {
		if code != 0 || !below(name, tree) {
			continue
		}
		if len(held[sum]) == 0 && !accept {
			s.fail("%s is proved, but %s of %s is gone", state, sum[:8], name)
		}
	}
	for sum, list := range held {
		for _, h := range list {
			if h.archive && below(h.name, tree) {
				known[sum] = h.name
				if code == 0 {
					s.counts.add(1, "archives proved by verify --state")
				}
			}
		}
	}
	if accept {
		maps.DeleteFunc(known, func(sum image, name string) bool { return below(name, tree) && len(held[sum]) == 0 })
	}
}

// everywhere is held, with the files that may get lost.
func (s *sequence) everywhere() map[image][]holder {
	out := s.held()
	for _, root := range []string{"mem", "vol.upper"} {
		_ = filepath.WalkDir(filepath.Join(s.dir, root), func(file string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			b, err := os.ReadFile(file)
			require.NoError(s.t, err)
			st, err := os.Stat(file)
			require.NoError(s.t, err)
			if sum, isArchive := s.holds(b); sum != "" {
				out[sum] = append(out[sum], holder{s.show([]string{file}), isArchive, idOf(st)})
			}
			return nil
		})
	}
	return out
}

func (s *sequence) start(args []string, out io.Writer) *exec.Cmd {
	cmd := exec.Command(s.exe, args...)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(s.exe)+":"+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(s.t, cmd.Start())
	return cmd
}
