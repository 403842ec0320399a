package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/cdf3"
)

//go:embed codecs.py
var codecsScript []byte

// runner runs peers over units, or takes their results from an earlier run.
type runner struct {
	dir, script string
	peers       []peer
	versions    map[string]string // by peer
	known       map[string]int64  // by key; -1 if the peer failed or does not apply
	cache       *os.File          // may be nil
}

func newRunner(ctx context.Context, rep *run.Report) (*runner, error) {
	r := &runner{dir: run.Temp(""), versions: map[string]string{}, known: map[string]int64{}}
	zarr, err := run.Script("zarr_blosc.py", run.ZarrScript)
	if err != nil {
		return nil, err
	}
	if r.script, err = run.Script("codecs.py", codecsScript); err != nil {
		return nil, err
	}
	libraries, err := r.codecs(ctx, "versions")
	if err != nil {
		run.Say("without Python's codecs: %v", err)
	}
	names := map[string]string{"PYTHON": *python, "ZARR": zarr}
	for key := range strings.SplitSeq(*toolList, ",") {
		i := slices.IndexFunc(allPeers, func(p peer) bool { return p.name == key })
		if i < 0 {
			return nil, fmt.Errorf("tool %q, expected one of %v", key, peerNames())
		}
		p := allPeers[i]
		p.args = run.Fill(p.args, names)
		version := longestPrefix(libraries, p.name)
		if len(p.args) > 0 {
			version = run.Version(ctx, run.Fill(p.version, names)...)
		}
		if version == "" {
			run.Say("without %s, which is not installed", p.name)
			continue
		}
		r.versions[p.name] = version
		r.peers = append(r.peers, p)
		rep.AddVersion(version)
	}
	return r, r.openCache(*cache)
}

// longestPrefix returns the value of the longest key that is a prefix of name.
func longestPrefix(m map[string]string, name string) string {
	best := ""
	for k := range m {
		if strings.HasPrefix(name, k) && len(k) > len(best) {
			best = k
		}
	}
	return m[best]
}

func (r *runner) temp(name string) string { return filepath.Join(r.dir, name) }

// openCache reads the sizes of earlier runs. Each line holds the unit's checksum, the
// peer, its version and the size.
func (r *runner) openCache(name string) error {
	if name == "" {
		return nil
	}
	var err error
	if r.cache, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666); err != nil {
		return err
	}
	lines := bufio.NewScanner(r.cache)
	for lines.Scan() {
		i := strings.LastIndexByte(lines.Text(), '\t')
		size, err := strconv.ParseInt(lines.Text()[i+1:], 10, 64)
		if i < 0 || err != nil {
			return fmt.Errorf("%s: expected sum, peer, version and size, found %q", name, lines.Text())
		}
		r.known[lines.Text()[:i]] = size
	}
	return lines.Err()
}

func (r *runner) close() {
	if r.cache != nil {
		r.cache.Close()
	}
}

func (r *runner) key(u *unit, p peer) string {
	sum := u.sum
	if !u.whole() && p.takes&hdf5 != 0 {
		sum += "@" + strconv.Itoa(u.num) // depends on the dimensions too
	}
	return sum + "\t" + p.name + "\t" + r.versions[p.name]
}

// take stores the size of a unit if it is known, and reports whether it is.
func (r *runner) take(u *unit, p peer) bool {
	size, ok := r.known[r.key(u, p)]
	if ok && size >= 0 {
		u.stored[p.name] = size
	}
	return ok
}

// keep stores a size and remembers it for later runs.
func (r *runner) keep(u *unit, p peer, size int64) error {
	key := r.key(u, p)
	r.known[key] = size
	r.take(u, p)
	if r.cache == nil {
		return nil
	}
	_, err := fmt.Fprintf(r.cache, "%s\t%d\n", key, size)
	return err
}

// file runs the peers that take files. Those that write HDF5 also report the size of
// each variable.
func (r *runner) file(ctx context.Context, u *unit, vars []*unit) error {
	for _, p := range r.peers {
		if p.takes&files == 0 {
			continue
		}
		known := r.take(u, p)
		if p.takes&hdf5 != 0 {
			for _, v := range vars {
				known = r.take(v, p) && known
			}
		}
		if known {
			continue
		}
		out := r.temp("packed")
		size := r.run(ctx, p, u.path, out)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.keep(u, p, size); err != nil {
			return err
		}
		if p.takes&hdf5 != 0 {
			sizes := map[string]string{}
			if size >= 0 {
				var err error
				if sizes, err = r.codecs(ctx, "hdf5", out); err != nil {
					return err
				}
			}
			for _, v := range vars {
				if err := r.keep(v, p, number(sizes[v.name])); err != nil {
					return err
				}
			}
		}
		os.Remove(out)
	}
	return nil
}

// values runs the peers that take values.
func (r *runner) values(ctx context.Context, f *archive.File, u *unit) error {
	name := r.temp("values")
	var python []peer
	for _, p := range r.peers {
		if p.takes&values == 0 || r.take(u, p) {
			continue
		}
		if _, err := os.Stat(name); err != nil {
			err := run.WriteFile(name, func(w io.Writer) error {
				_, err := io.Copy(w, u.bytes(f))
				return err
			})
			if err != nil {
				return err
			}
			defer os.Remove(name)
		}
		if len(p.args) == 0 {
			python = append(python, p)
			continue
		}
		size := r.run(ctx, p, name, r.temp("packed"))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.keep(u, p, size); err != nil {
			return err
		}
	}
	if len(python) == 0 {
		return nil
	}
	args := []string{"values", name, dtype(u.typ), shape(u.shape)}
	for _, p := range python {
		args = append(args, p.name)
	}
	sizes, err := r.codecs(ctx, args...)
	if err != nil {
		return err
	}
	for _, p := range python {
		if err := r.keep(u, p, number(sizes[p.name])); err != nil {
			return err
		}
	}
	return nil
}

// run returns the size of a program's output for a file, or -1 if it fails.
func (r *runner) run(ctx context.Context, p peer, in, out string) int64 {
	os.Remove(out)
	_, err := run.Convert(ctx, p.args, in, out, nil)
	size := int64(-1)
	if st, serr := os.Stat(out); err == nil && serr == nil {
		size = st.Size()
	} else {
		run.Say("%s: %v", p.name, errors.Join(err, serr))
	}
	if p.takes&hdf5 == 0 {
		os.Remove(out)
	}
	return size
}

// codecs runs codecs.py and returns its answers by name.
func (r *runner) codecs(ctx context.Context, args ...string) (map[string]string, error) {
	cmd := exec.CommandContext(ctx, *python, append([]string{r.script}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	answers := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, answer, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		answers[name] = answer
	}
	return answers, err
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// dtype is numpy's name of a type in a classic file.
func dtype(t cdf3.Type) string {
	if t == cdf3.Char {
		return "u1"
	}
	return t.DType()
}

func shape(lens []int64) string {
	var s []string
	for _, n := range lens {
		s = append(s, strconv.FormatInt(n, 10))
	}
	return strings.Join(s, ",")
}
