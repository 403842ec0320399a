package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
)

// TestProofs runs random sequences of what archivists do over trees whose targets collide:
// archive with and without -f, --delete-source and receipts, restore, repair, deleting, moving,
// overwriting, damage to sources, archives and receipts, runs that are killed, and two runs at a
// time. After every command, each netCDF file that existed before it must still exist, as a source
// or in an archive that restores it, unless the command was told to replace exactly that. Receipts
// that are confirmed must be true, all of them that were ever written.
//
// 60 sequences, 12 with -short, 10,000 in the soak. The seed of each is its number.
func TestProofs(t *testing.T) {
	sequences := 60
	switch {
	case os.Getenv("CDFZ_SOAK") != "":
		sequences = 10_000
	case testing.Short():
		sequences = 12
	}
	first := uint64(0)
	if s := os.Getenv("CDFZ_PROOF_SEED"); s != "" { // one sequence, with all its steps
		_, err := fmt.Sscan(s, &first)
		require.NoError(t, err)
		sequences = 1
	}
	counts := map[string]int{}
	for n := range sequences {
		s := newSequence(t, first+uint64(n), counts)
		for range 4 + s.r.IntN(12) {
			s.step()
		}
		require.NoError(t, os.RemoveAll(s.dir))
	}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%6d %s", counts[what], what)
	}
}

// image is the SHA-256 of a netCDF file, in hexadecimal.
type image string

// sequence is one random sequence of steps in a folder.
type sequence struct {
	t      *testing.T
	r      *rand.Rand
	seed   uint64
	dir    string
	counts map[string]int
	names  map[image]string    // where each image appeared first
	proofs map[string][]*claim // of receipts files, all receipts ever seen in them
	broken map[string]bool     // receipts files that were damaged
	log    []string            // of the steps, for failures
}

// claim is what one receipt says.
type claim struct {
	Source  string `json:"source"`
	Archive string `json:"archive"`
	SHA256  image  `json:"sha256"`
}

func newSequence(t *testing.T, seed uint64, counts map[string]int) *sequence {
	dir, err := os.MkdirTemp("", "cdfz-proofs-*")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &sequence{
		t: t, r: rand.New(rand.NewPCG(seed, 24)), seed: seed, dir: dir, counts: counts,
		names: map[image]string{}, proofs: map[string][]*claim{}, broken: map[string]bool{},
	}
	for _, tree := range proofTrees {
		for range 1 + s.r.IntN(3) {
			s.newSource(filepath.Join(dir, tree, s.pick(proofFiles)))
		}
	}
	return s
}

var (
	proofTrees    = []string{"1990", "1991", "1992"}
	proofFiles    = []string{"tas.nc", "pr.nc", "day/tas.nc"}
	proofTargets  = []string{"", "out", "out/1991"}
	proofReceipts = []string{"", "p.jsonl", "q.jsonl"}
)

func (s *sequence) pick(list []string) string { return list[s.r.IntN(len(list))] }

func (s *sequence) say(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *sequence) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("sequence %d: %s\n%s", s.seed, fmt.Sprintf(format, args...), strings.Join(s.log, "\n"))
}

// newSource writes a classic file with values of its own. All files of one name have the same
// size, so that only their bytes and times differ.
func (s *sequence) newSource(name string) {
	n := 16
	if strings.HasPrefix(filepath.Base(name), "pr") {
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
	require.NoError(s.t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(s.t, os.WriteFile(name, b, 0o644))
	// Times are among few, so that equal sizes and times of different files occur.
	when := time.Unix(1_600_000_000+s.r.Int64N(2)*86400, 0)
	require.NoError(s.t, os.Chtimes(name, when, when))
	s.names[imageOf(b)] = s.short(name)
}

func imageOf(b []byte) image {
	sum := sha256.Sum256(b)
	return image(hex.EncodeToString(sum[:]))
}

func (s *sequence) short(name string) string {
	rel, err := filepath.Rel(s.dir, name)
	require.NoError(s.t, err)
	return rel
}

// files returns the files below the folder that have a suffix.
func (s *sequence) files(suffix string) []string {
	var out []string
	require.NoError(s.t, filepath.WalkDir(s.dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(name, suffix) {
			out = append(out, name)
		}
		return err
	}))
	return out
}

// held returns the images that exist, with the files that hold them.
func (s *sequence) held() map[image][]string {
	out := map[image][]string{}
	for _, name := range append(s.files(".nc"), s.files(fileio.Suffix)...) {
		b, err := os.ReadFile(name)
		require.NoError(s.t, err)
		sum := imageOf(b)
		if strings.HasSuffix(name, fileio.Suffix) {
			sum = restored(b)
		}
		if sum != "" {
			out[sum] = append(out[sum], s.short(name))
		}
	}
	return out
}

// restored returns the image that an archive restores, by its index or by its local headers, or
// "".
func restored(b []byte) image {
	size := int64(len(b))
	if f, err := archive.New(bytes.NewReader(b), size, nil); err == nil {
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

// step makes one change by hand, or runs one command.
func (s *sequence) step() {
	byHand := []func() string{s.write, s.rot, s.remove, s.move, s.damage, s.tamper, s.touch}
	commands := []func(){s.archive, s.archive, s.archive, s.archive, s.parallel, s.kill, s.receipts, s.restore, s.repair}
	if s.r.IntN(3) == 0 {
		what := byHand[s.r.IntN(len(byHand))]()
		if what != "" {
			s.say("%s", what)
			s.counts["by hand: "+strings.Fields(what)[0]]++
		}
		return
	}
	commands[s.r.IntN(len(commands))]()
}

// What people do to files by hand. Each returns what it did, or "".

func (s *sequence) write() string {
	name := filepath.Join(s.dir, s.pick(proofTrees), s.pick(proofFiles))
	s.newSource(name)
	return "write " + s.short(name)
}

// one returns a random file with a suffix, or "".
func (s *sequence) one(suffix string) string {
	if list := s.files(suffix); len(list) > 0 {
		return s.pick(list)
	}
	return ""
}

// rot changes a byte of a source, but neither its size nor its time.
func (s *sequence) rot() string {
	name := s.one(".nc")
	if name == "" {
		return ""
	}
	s.flip(name, 80)
	return "rot " + s.short(name)
}

func (s *sequence) flip(name string, from int) {
	st, err := os.Stat(name)
	require.NoError(s.t, err)
	b, err := os.ReadFile(name)
	require.NoError(s.t, err)
	b[from+s.r.IntN(len(b)-from)] ^= 1 << s.r.IntN(8)
	require.NoError(s.t, os.WriteFile(name, b, 0o644))
	require.NoError(s.t, os.Chtimes(name, st.ModTime(), st.ModTime()))
}

func (s *sequence) remove() string {
	name := s.one(s.pick([]string{".nc", fileio.Suffix}))
	if name == "" {
		return ""
	}
	require.NoError(s.t, os.Remove(name))
	return "remove " + s.short(name)
}

// move renames a source, an archive, or a tree.
func (s *sequence) move() string {
	from := s.one(s.pick([]string{".nc", fileio.Suffix}))
	to := filepath.Join(s.dir, s.pick(proofTrees), s.pick(proofFiles))
	if s.r.IntN(2) == 0 {
		from, to = filepath.Join(s.dir, s.pick(proofTrees)), filepath.Join(s.dir, s.pick(proofTrees))
		if _, err := os.Stat(from); err != nil || from == to {
			return ""
		}
		if err := os.Rename(to, to+".old"); err != nil && !os.IsNotExist(err) {
			return ""
		}
	} else if from == "" || from == to {
		return ""
	} else if strings.HasSuffix(from, fileio.Suffix) {
		to += fileio.Suffix
	}
	require.NoError(s.t, os.MkdirAll(filepath.Dir(to), 0o755))
	if err := os.Rename(from, to); err != nil {
		return ""
	}
	return "move " + s.short(from) + " to " + s.short(to)
}

func (s *sequence) damage() string {
	name := s.one(fileio.Suffix)
	if name == "" {
		return ""
	}
	if s.r.IntN(3) == 0 {
		st, err := os.Stat(name)
		require.NoError(s.t, err)
		require.NoError(s.t, os.Truncate(name, st.Size()-1-s.r.Int64N(st.Size())))
		return "damage " + s.short(name) + " by cutting it"
	}
	s.flip(name, 0)
	return "damage " + s.short(name)
}

func (s *sequence) touch() string {
	name := s.one(s.pick([]string{".nc", fileio.Suffix}))
	if name == "" {
		return ""
	}
	when := time.Unix(1_600_000_000+s.r.Int64N(2)*86400, 0)
	require.NoError(s.t, os.Chtimes(name, when, when))
	return "touch " + s.short(name)
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
	if name == "" || s.broken[filepath.Base(name)] || s.r.IntN(2) > 0 {
		return ""
	}
	b, err := os.ReadFile(name)
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
	require.NoError(s.t, os.WriteFile(name, b, 0o644))
	s.broken[filepath.Base(name)] = true
	return "tamper " + s.short(name) + ": " + what
}

// Commands.

// archiveArgs returns the arguments of a random run of archive.
func (s *sequence) archiveArgs() []string {
	args := []string{"archive"}
	flag := func(one int, flags ...string) {
		if s.r.IntN(one) == 0 {
			args = append(args, flags...)
		}
	}
	flag(3, "-f")
	flag(6, "--replace-other")
	flag(4, "--skip-existing="+s.pick([]string{"hash", "never", "mtime"}))
	flag(6, "--parity=30%")
	flag(4, "--preset=fast")
	if out := s.pick(proofTargets); out != "" {
		args = append(args, "-o", filepath.Join(s.dir, out)+"/")
	}
	if name := s.pick(proofReceipts); name != "" {
		args = append(args, "--receipts", filepath.Join(s.dir, name))
		flag(1+s.r.IntN(2), "--delete-source")
	}
	for range 1 + s.r.IntN(2) {
		arg := filepath.Join(s.dir, s.pick(proofTrees))
		if s.r.IntN(4) == 0 {
			arg = filepath.Join(arg, s.pick(proofFiles))
		}
		if !slices.Contains(args, arg) {
			args = append(args, arg)
		}
	}
	return args
}

func (s *sequence) archive() { s.command(s.archiveArgs()) }

func (s *sequence) restore() {
	args := []string{"restore"}
	if s.r.IntN(2) == 0 {
		args = append(args, "-o", filepath.Join(s.dir, s.pick([]string{"1990", "out"}))+"/")
	}
	if s.r.IntN(3) == 0 {
		args = append(args, "--salvage")
	}
	s.command(append(args, filepath.Join(s.dir, s.pick(append([]string{"out"}, proofTrees...)))))
}

func (s *sequence) repair() {
	if name := s.one(fileio.Suffix); name != "" {
		s.command([]string{"repair", name})
	}
}

func (s *sequence) receipts() {
	if name := s.one(".jsonl"); name != "" {
		s.command([]string{"receipts", name})
	}
}

// command runs a command and checks what it left.
func (s *sequence) command(args []string) {
	s.around([][]string{args}, func() []int {
		var out bytes.Buffer
		code := run(s.t.Context(), args, strings.NewReader(""), &out, &out)
		s.say("$ cdfz %s\n%sexit %d", s.show(args), s.show([]string{out.String()}), code)
		return []int{code}
	})
}

// show returns arguments or output without the folder of the sequence.
func (s *sequence) show(text []string) string {
	return strings.ReplaceAll(strings.Join(text, " "), s.dir+"/", "")
}

func (s *sequence) start(args []string, out io.Writer) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Args[0] = "cdfz"
	cmd.Env = append(os.Environ(), "TESTSCRIPT_COMMAND=cdfz")
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(s.t, cmd.Start())
	return cmd
}

// parallel runs two commands at the same time.
func (s *sequence) parallel() {
	two := [][]string{s.archiveArgs(), s.archiveArgs()}
	s.around(two, func() []int {
		var outs [2]bytes.Buffer
		var cmds [2]*exec.Cmd
		for i := range two {
			cmds[i] = s.start(two[i], &outs[i])
		}
		var codes []int
		for i, cmd := range cmds {
			_ = cmd.Wait()
			codes = append(codes, cmd.ProcessState.ExitCode())
			s.say("$ cdfz %s   # at the same time\n%sexit %d", s.show(two[i]), s.show([]string{outs[i].String()}), codes[i])
		}
		return codes
	})
}

// kill kills a command after a random time.
func (s *sequence) kill() {
	args := s.archiveArgs()
	s.around([][]string{args}, func() []int {
		var out bytes.Buffer
		cmd := s.start(args, &out)
		time.Sleep(time.Duration(s.r.Int64N(int64(60 * time.Millisecond))))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		code := cmd.ProcessState.ExitCode()
		s.say("$ cdfz %s   # killed\n%sexit %d", s.show(args), s.show([]string{out.String()}), code)
		return []int{code}
	})
}

// around checks that commands lose nothing.
func (s *sequence) around(commands [][]string, do func() []int) {
	before := s.held()
	codes := do()
	after := s.held()
	for i, args := range commands {
		what := args[0]
		if len(commands) > 1 {
			what += " in parallel"
		}
		s.counts[fmt.Sprintf("%s, exit %d", what, codes[i])]++
	}
	for sum, where := range before {
		if len(after[sum]) == 0 && !s.allowed(sum, where, commands) {
			s.fail("nothing holds %s, first %s, any more. Before this step, these held it: %v", sum[:8], s.names[sum], where)
		}
	}
	for _, code := range codes {
		if code < -1 || code > 3 {
			s.fail("exit code %d", code)
		}
	}
	s.readProofs()
	for i, args := range commands {
		if args[0] == "receipts" && codes[i] == 0 {
			s.confirmed(filepath.Base(args[1]), after)
		}
	}
}

// allowed reports whether the user has asked for the loss of an image: a command with
// --replace-other replaced the archive that held it, and no receipt that this command was given
// vouches for it while its source is gone. If two commands run at the same time, the other one may
// have made that archive and deleted the source just before.
func (s *sequence) allowed(sum image, where []string, commands [][]string) bool {
	deletes := slices.ContainsFunc(commands, func(args []string) bool { return slices.Contains(args, "--delete-source") })
	for _, name := range where {
		if !strings.HasSuffix(name, fileio.Suffix) && (len(commands) < 2 || !deletes) {
			return false
		}
		if !slices.ContainsFunc(commands, func(args []string) bool {
			return slices.Contains(args, "--replace-other") && !s.vouched(sum, name, args)
		}) {
			return false
		}
	}
	return true
}

// vouched reports whether a receipt that a command was given says that an archive holds an image.
func (s *sequence) vouched(sum image, name string, args []string) bool {
	i := slices.Index(args, "--receipts")
	return i >= 0 && slices.ContainsFunc(s.proofs[filepath.Base(args[i+1])], func(c *claim) bool {
		return c.SHA256 == sum && s.short(c.Archive) == name
	})
}

// readProofs adds the receipts of all files to those that were seen before.
func (s *sequence) readProofs() {
	for _, name := range s.files(".jsonl") {
		b, err := os.ReadFile(name)
		require.NoError(s.t, err)
		base := filepath.Base(name)
		for text := range bytes.Lines(b) {
			c := new(claim)
			if json.Unmarshal(text, c) != nil || c.Archive == "" || s.broken[base] {
				continue
			}
			if !slices.ContainsFunc(s.proofs[base], func(d *claim) bool { return *d == *c }) {
				s.proofs[base] = append(s.proofs[base], c)
			}
		}
	}
}

// confirmed checks a file of receipts that the command has confirmed.
func (s *sequence) confirmed(base string, after map[image][]string) {
	if s.broken[base] {
		s.fail("%s was damaged, and is confirmed", base)
	}
	for _, c := range s.proofs[base] {
		if !slices.Contains(after[c.SHA256], s.short(c.Archive)) {
			s.fail("%s is confirmed, but %s does not restore %s", base, s.short(c.Archive), c.SHA256[:8])
		}
	}
}
