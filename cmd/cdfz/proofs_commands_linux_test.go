package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
)

// step makes one change by hand, or runs one command.
func (s *sequence) step() {
	if s.oneIn(3) {
		byHand := []func() string{
			s.write, s.write, s.rot, s.remove, s.move, s.move, s.swap, s.relink, s.sync, s.link, s.damage, s.touch,
			s.tamper, s.merge, s.inMemory, s.remount,
		}
		if what := byHand[s.r.IntN(len(byHand))](); what != "" {
			s.say("%s", what)
			s.counts.add(1, "by hand: %s", strings.Fields(what)[0])
		}
		return
	}
	commands := []func(){
		s.archive, s.archive, s.archive, s.archive, s.replaceChanged, s.revise, s.revise, s.revise, s.shard, s.shard, s.copies,
		s.parallel, s.kill, s.receipts, s.restore, s.restore, s.copyOne, s.copyTree, s.repair, s.parity,
		s.state, s.state, s.against, s.inRun, s.pack, s.pack, s.repack, s.overVolume,
	}
	commands[s.r.IntN(len(commands))]()
}

func (c *command) flag(flags ...string) { c.args = append(c.args, flags...) }

// give gives a command receipts to read.
func (s *sequence) give(c *command) {
	for s.oneIn(3) {
		name := s.pick([]string{"p.jsonl", "q.jsonl", "shards", "merged.jsonl"})
		if !s.exists(name) {
			return
		}
		c.flag("--receipts-also", s.spelled(name))
		c.receipts = append(c.receipts, name)
	}
}

func (s *sequence) exists(name string) bool {
	m, _ := filepath.Glob(s.byHand(name))
	return len(m) > 0
}

// force tells a command what it may replace.
func (s *sequence) force(c *command) {
	if s.oneIn(2) {
		c.flag("-f")
		if s.oneIn(3) {
			c.flag("--replace-other")
			c.other = true
		}
	}
}

// packArgs returns a run of archive into volumes. It may replace nothing.
func (s *sequence) packArgs() *command {
	c := s.newArchive()
	c.flag("--pack", s.pick([]string{"24K", "1G"}))
	if s.oneIn(6) {
		c.flag("-f")
	}
	s.proving(c, s.pick([]string{"p.jsonl", "q.jsonl"}), 2)
	s.give(c)
	c.flag("-o", s.spelled(s.pick([]string{"out", "second", "packed", s.anyPlace()}))+"/")
	for range 1 + s.r.IntN(2) {
		c.flag(s.spelled(s.anyTree()))
	}
	return c
}

func (s *sequence) pack() { s.command(s.packArgs()) }

// repack packs a folder that may have archives and volumes.
func (s *sequence) repack() {
	s.command(&command{args: []string{"pack", "--size", "40K", "-o", s.spelled("packed") + "/", s.spelled(s.archives())}})
}

// overVolume tries to replace a volume.
func (s *sequence) overVolume() {
	from, to := s.oneOfBoth(), s.one(volume.Suffix)
	if from == "" || to == "" {
		return
	}
	c := &command{args: []string{s.pick([]string{"copy", "archive", "restore"}), "-f", "--replace-other"}}
	if c.args[0] == "copy" {
		c.flag(s.spelled(from), s.spelled(to))
	} else {
		c.flag("-o", s.spelled(to), s.spelled(from))
	}
	s.command(c)
}

// newArchive returns a run of archive.
func (s *sequence) newArchive() *command {
	c := &command{args: []string{"archive"}}
	if s.oneIn(6) {
		c.flag("--parity=30%")
	}
	if s.oneIn(4) {
		c.flag("--preset=fast")
	}
	if s.mounts.named {
		c.flag("--durable-mount", filepath.Join(s.dir, "mem"))
	}
	return c
}

// proving lets a run of archive write receipts, and perhaps delete sources.
func (s *sequence) proving(c *command, name string, deletes int) {
	c.flag("--receipts", s.spelled(name))
	c.receipts = append(c.receipts, name)
	if s.r.IntN(3) < deletes {
		c.flag("--delete-source")
		c.deletes = true
	}
}

// inputs adds trees or files, and a target.
func (s *sequence) inputs(c *command) *command {
	before := len(c.args)
	defer func() { c.inputs = len(c.args) - before }()
	out := ""
	if s.oneIn(2) {
		out = s.anyPlace()
		c.flag("-o", s.spelled(out)+"/")
		c.into = append(c.into, s.written(out)...)
	}
	for range 1 + s.r.IntN(2) {
		name := s.anyTree()
		if s.oneIn(4) {
			name = path.Join(name, s.pick(proofFiles))
			if there := s.one(".nc"); there != "" && !s.oneIn(3) {
				name = there
			}
		}
		if out == "" {
			c.into = append(c.into, s.written(besides(name))...)
		}
		c.flag(s.spelled(name))
	}
	return c
}

// besides returns the folder in which the archive of a file appears, or those of a tree.
func besides(name string) string {
	if strings.HasSuffix(name, ".nc") {
		return path.Dir(name)
	}
	return name
}

func (s *sequence) archiveArgs() *command {
	c := s.newArchive()
	s.force(c)
	if s.oneIn(4) {
		c.flag("--skip-existing=" + s.pick([]string{"hash", "never", "mtime"}))
	}
	if !s.oneIn(3) {
		s.proving(c, s.pick([]string{"p.jsonl", "q.jsonl", "p.jsonl", "q.jsonl", "merged.jsonl", "mem/m.jsonl"}), 2)
	}
	s.give(c)
	return s.inputs(c)
}

func (s *sequence) archive() { s.command(s.archiveArgs()) }

// replaceArgs returns a run of archive that keeps or removes archives of older states.
func (s *sequence) replaceArgs() *command {
	c := s.newArchive()
	c.flag("--replace-changed")
	if !s.oneIn(3) {
		c.flag("--remove-replaced")
		c.removes = true
		if s.oneIn(6) {
			c.flag("--replace-other")
		}
	}
	if !s.oneIn(8) {
		s.proving(c, s.pick([]string{"p.jsonl", "q.jsonl"}), 1)
	}
	s.give(c)
	return s.inputs(c)
}

// revise writes a new state of a file that is archived, under the name that it had, beside its archive, or in a tree, and
// archives that where the old archive is.
func (s *sequence) revise() {
	old := s.one(fileio.Suffix)
	top, rest, ok := strings.Cut(strings.TrimSuffix(old, fileio.Suffix), "/")
	if !ok || strings.Contains(rest, ".cdfz-") || top == "over.upper" {
		return
	}
	source := path.Join(s.pick(append(proofTrees, top, top)), rest)
	s.newSource(source)
	at := time.Unix(1_600_000_000, 0).Add(time.Duration(10+len(s.log)) * 24 * time.Hour)
	if err := os.Chtimes(s.byHand(source), at, at); err != nil {
		s.fail("%v", err)
	}
	s.say("revise %s", source)
	c := s.archiveArgs
	if !s.oneIn(3) {
		c = s.replaceArgs
	}
	one := c()
	// The last arguments are the target, if there is one, and files.
	end := len(one.args) - one.inputs
	one.args = append(one.args[:end], "-o", s.spelled(path.Dir(old))+"/", s.spelled(source))
	one.into = s.written(path.Dir(old))
	s.command(one)
}

func (s *sequence) replaceChanged() { s.command(s.replaceArgs()) }

// shard runs one of a number of shards, which changes, with receipts of its own.
func (s *sequence) shard() {
	c := s.archiveArgs
	if s.oneIn(2) {
		c = s.replaceArgs
	}
	one, n := c(), 1+s.r.IntN(3)
	i := slices.Index(one.args, "--receipts")
	if i < 0 {
		return
	}
	name := fmt.Sprintf("shards/%d.jsonl", 1+s.r.IntN(n))
	one.args[i+1] = s.spelled(name)
	one.receipts[0] = name
	if !s.oneIn(3) {
		one.args = slices.Insert(one.args, 1, "--receipts-also", s.spelled("shards"))
		one.receipts = append(one.receipts, "shards")
	}
	one.args = slices.Insert(one.args, 1, fmt.Sprintf("--shard=%s/%d", strings.TrimSuffix(path.Base(name), ".jsonl"), n))
	s.command(one)
}

// copies deletes sources of which there are two archives.
func (s *sequence) copies() {
	c := s.newArchive()
	s.proving(c, "p.jsonl", 3)
	c.copies = true
	at := s.pick([]string{"mem", "mem/out", "over", "vol", "second", "out"})
	c.flag("--copies", "2", "--copy-at", s.spelled(at))
	s.command(s.inputs(c))
}

func (s *sequence) restore() {
	c := &command{args: []string{"restore"}}
	s.force(c)
	s.give(c)
	if s.oneIn(3) {
		c.flag("--salvage")
	}
	from := s.archives()
	if s.oneIn(2) {
		to := s.anyPlace()
		c.flag("-o", s.spelled(to)+"/")
		c.into = s.written(to)
	} else {
		c.into = s.written(from)
	}
	c.flag(s.spelled(from))
	s.command(c)
}

// copyOne copies a file to another one, perhaps of the other kind.
func (s *sequence) copyOne() {
	from := s.oneOfBoth()
	to := s.oneOfBoth()
	if s.oneIn(3) {
		to = path.Join(s.anyPlace(), s.pick(proofFiles))
	}
	if from == "" || to == "" {
		return
	}
	c := &command{args: []string{"copy"}, into: s.written(to)}
	s.force(c)
	s.give(c)
	if s.oneIn(4) {
		c.flag("--to", s.pick([]string{"archive", "classic"}))
	}
	c.flag(s.spelled(from), s.spelled(to))
	s.command(c)
}

func (s *sequence) copyTree() {
	to := s.anyPlace()
	c := &command{args: []string{"copy"}, into: s.written(to)}
	s.force(c)
	s.give(c)
	c.flag(s.spelled(s.archives()), s.spelled(to)+"/")
	s.command(c)
}

func (s *sequence) repair() {
	name := s.one(fileio.Suffix)
	if name == "" {
		return
	}
	from := s.one(fileio.Suffix)
	if s.oneIn(2) {
		name, from = s.archives(), s.archives()
	}
	c := &command{args: []string{"repair"}, into: s.written(name)}
	s.force(c)
	s.give(c)
	if !s.oneIn(3) {
		c.flag("--from", s.spelled(from))
	}
	c.flag(s.spelled(name))
	s.command(c)
}

func (s *sequence) parity() {
	if name := s.one(fileio.Suffix); name != "" {
		c := &command{args: []string{"parity"}, into: s.written(name)}
		s.force(c)
		c.flag("-p", s.pick([]string{"0%", "30%", "60%"}), s.spelled(name))
		s.command(c)
	}
}

func (s *sequence) receipts() {
	if name := s.one(".jsonl"); name != "" {
		c := &command{args: []string{"receipts", s.spelled(name)}}
		s.command(c)
		if c.code == 0 {
			s.confirmed(name)
		}
	}
}

// state proves the archives of a tree.
func (s *sequence) state() {
	name, tree := s.pick([]string{"state.1", "state.2"}), s.archives()
	c := &command{args: []string{"verify", "--state", s.spelled(name)}}
	accept := s.oneIn(4)
	if accept {
		c.flag("--accept-changes")
	}
	if s.oneIn(2) {
		c.flag("--older-than", "1d")
	}
	c.flag(s.spelled(tree))
	s.command(c)
	if tree != s.mounts.view && len(s.written(tree)) == 1 && tree != "over" {
		s.proved(name, tree, accept, c.code)
	}
}

// against compares archives with their originals. If they are the same, either can be deleted.
func (s *sequence) against() {
	archives := s.archives()
	original := s.pick([]string{archives, s.anyTree()})
	c := &command{args: []string{"verify", "--against", s.spelled(original), s.spelled(archives)}}
	if s.oneIn(2) {
		archives = s.one(fileio.Suffix)
		top, rest, _ := strings.Cut(archives, "/")
		switch source := strings.TrimSuffix(archives, fileio.Suffix); {
		case archives == "":
			return
		case top == s.mounts.lower && s.oneIn(2): // perhaps the same file
			original = path.Join(s.pick([]string{"over", "vol"}), s.pick([]string{rest, strings.TrimSuffix(rest, fileio.Suffix)}))
		default:
			original = s.pick([]string{archives, source, source, s.oneOfBoth()})
		}
		c.args = []string{"verify", "--against", s.spelled(original), s.spelled(archives)}
	}
	s.command(c)
	if c.code != 0 || archives == s.mounts.view {
		return
	}
	for sum, list := range s.everywhere() {
		files := map[fileID]bool{}
		found := ""
		for _, h := range list {
			files[h.file] = true
			if h.archive && below(h.name, archives) && strings.HasSuffix(h.name, fileio.Suffix) && !c.leftOut(h.name) {
				found = h.name
			}
		}
		if found != "" && len(files) < 2 {
			s.fail("%s of %s was compared with its original, but no other file holds it", sum[:8], found)
		}
		if found != "" {
			s.counts.add(1, "archives compared with originals")
		}
	}
}

// leftOut reports whether verify --against says that it did not compare an archive, since that is of an older state.
func (c *command) leftOut(name string) bool {
	line := regexp.MustCompile(`(?m)(^|/)` + regexp.QuoteMeta(path.Base(name)) + `: ok$`)
	return strings.Contains(c.out, "of an older state, not compared") && line.MatchString(c.out)
}

// inRun archives within cdfz run, which shows the originals of archives.
func (s *sequence) inRun() {
	if !s.oneIn(4) {
		return
	}
	tree := s.pick(append(proofTrees, "out"))
	c := s.archiveArgs()
	if s.oneIn(3) {
		c = s.replaceArgs()
	}
	c.args = slices.Concat([]string{"run", "--with-archives", "--folder", s.spelled(tree), "--", "cdfz"}, c.args)
	s.run([]*command{c}, "", func() { s.wait(c, s.started(c), "") })
}

// command runs a command and checks what it left.
func (s *sequence) command(c *command) {
	s.run([]*command{c}, "", func() {
		var out bytes.Buffer
		c.code = run(s.t.Context(), c.args, strings.NewReader(""), &out, &out)
		s.ended(c, &out, "")
	})
}

// ended notes the output of a command.
func (s *sequence) ended(c *command, out *bytes.Buffer, how string) {
	c.out = out.String()
	s.say("$ cdfz %s%s\n%sexit %d", s.show(c.args), how, s.show([]string{out.String()}), c.code)
	for _, deletion := range []string{"source deleted", "was not deleted", "is kept", "was kept as", "proves nothing", "may lose what is flushed"} {
		if n := strings.Count(out.String(), deletion); n > 0 {
			s.counts.add(n, "messages with %q", deletion)
		}
	}
}

// show returns arguments or output without the folder of the sequence.
func (s *sequence) show(text []string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.Join(text, " "), s.dir+"/", ""), s.eye+"/", "")
}

// process is a command that runs.
type process struct {
	*exec.Cmd
	out bytes.Buffer
}

func (s *sequence) started(c *command) *process {
	p := new(process)
	p.Cmd = s.start(c.args, &p.out)
	return p
}

// wait returns when a command has ended.
func (s *sequence) wait(c *command, p *process, how string) {
	_ = p.Wait()
	c.code = p.ProcessState.ExitCode()
	s.ended(c, &p.out, how)
}

// anyRun returns a run of archive of any kind.
func (s *sequence) anyRun() *command {
	switch s.r.IntN(5) {
	case 0, 1:
		return s.replaceArgs()
	case 2:
		return s.packArgs()
	}
	return s.archiveArgs()
}

// parallel runs two commands at the same time.
func (s *sequence) parallel() {
	two := []*command{s.anyRun(), s.anyRun()}
	s.run(two, " in parallel", func() {
		a, b := s.started(two[0]), s.started(two[1])
		s.wait(two[0], a, "   # at the same time")
		s.wait(two[1], b, "   # at the same time")
	})
}

// kill kills a command after a random time.
func (s *sequence) kill() {
	c := s.anyRun()
	if s.oneIn(3) {
		c = &command{args: []string{"restore", s.spelled(s.archives())}}
	}
	s.run([]*command{c}, ", perhaps killed", func() {
		p := s.started(c)
		time.Sleep(time.Duration(s.r.Int64N(int64(100 * time.Millisecond))))
		_ = p.Process.Kill()
		s.wait(c, p, "   # killed")
	})
}
