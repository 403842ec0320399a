// Peers runs cdfz and comparable programs over one file, in one run and in turns, and
// reports ratio, speed and memory.
//
//	go run ./bench/peers [flags] FILE
//
// Speeds are MB (10^6 bytes of the uncompressed file) per second of wall time, with
// FILE in the page cache. nccopy -d5 -s is the baseline.
package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/bench/internal/fields"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/cdf3"
)

var (
	rounds = run.Rounds(3)
	python = run.Python()
	warm   = flag.Bool("warm", false, "begin with a round that does not count")
	names  = flag.String("tools", "cdfz,cdfz-fast,nccopy,gzip,zstd,zstd-T2", "which to run: "+strings.Join(toolNames(), ", "))
	sync   = flag.Bool("sync", false, "write each program's output to disk and count the time, as cdfz always does")
	touch  = flag.Bool("touch", false, "before each run, write and remove a file of FILE's size in the folder for temporary files, so that free memory has been used before")
)

func main() {
	run.Cdfz()
	run.Dir()
	run.Out()
	run.Main("FILE", 1, 1, compare)
}

// measured are the runs of a tool, in both directions.
type measured struct {
	tool
	stored           int64
	exact            bool
	writes, restores []run.Cost
}

func compare(ctx context.Context, args []string) error {
	in := args[0]
	f, h, err := fields.Open(in)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	f.Close()
	if err != nil {
		return err
	}
	size := st.Size()
	cdfz, err := run.Build(ctx)
	if err != nil {
		return err
	}
	script, err := run.Script("zarr_blosc.py", run.ZarrScript)
	if err != nil {
		return err
	}
	kinds := map[cdf3.Version]string{cdf3.Classic: "classic", cdf3.Offset64: "64-bit offset", cdf3.Data64: "cdf5"}
	tools, err := chooseTools(*names, map[string]string{"CDFZ": cdfz, "KIND": kinds[h.Version], "PYTHON": *python, "SCRIPT": script})
	if err != nil {
		return err
	}
	r := run.NewReport()
	all := make([]*measured, len(tools))
	for i, t := range tools {
		all[i] = &measured{tool: t, exact: true}
		if len(t.version) > 0 {
			r.AddVersion(run.Version(ctx, t.version...))
		}
	}
	first := 0
	if *warm {
		first = -1
	}
	for round := first; round < *rounds; round++ {
		for i := range all {
			if round&1 == 1 { // each second round in the opposite order
				i = len(all) - 1 - i
			}
			run.Say("round %d of %d: %s", round+1, *rounds, all[i].name)
			if err := all[i].run(ctx, in, size, round >= 0); err != nil {
				return err
			}
		}
	}
	report(r, all, filepath.Base(in), size)
	return r.Save()
}

// run runs a tool. It removes the tool's output afterwards, so that dirty pages are not written
// back during other runs.
func (m *measured) run(ctx context.Context, in string, size int64, counts bool) error {
	packed, back := run.Temp("packed"), run.Temp("back.nc")
	defer os.Remove(packed)
	defer os.Remove(back)
	if err := read(in); err != nil { // into the page cache
		return err
	}
	convert := func(args []string, from, to string) (run.Cost, error) {
		if *touch {
			if err := touchMemory(size); err != nil {
				return run.Cost{}, err
			}
		}
		after := func() error {
			if !*sync {
				return nil
			}
			return syncFile(to)
		}
		return run.Convert(ctx, args, from, to, after)
	}
	write, err := convert(m.compress, in, packed)
	if err != nil {
		return err
	}
	st, err := os.Stat(packed)
	if err != nil {
		return err
	}
	restore, err := convert(m.restore, packed, back)
	if err != nil {
		return err
	}
	exact, err := same(in, back)
	if counts {
		m.stored, m.exact = st.Size(), m.exact && exact
		m.writes, m.restores = append(m.writes, write), append(m.restores, restore)
	}
	return err
}

func report(r *run.Report, all []*measured, name string, size int64) {
	r.Printf("%s: %d bytes, medians of %d rounds\n", name, size, *rounds)
	r.Printf("MB = 10^6 bytes of the uncompressed file, wall time, file in the page cache; x = times %s\n", baseline)
	if *sync {
		r.Printf("All programs: with the time until the output is on the disk.\n")
	}
	if *touch {
		r.Printf("Before each run a file of this size was written and removed.\n")
	}
	r.Printf("\n")
	t := r.Table("tool %s", "ratio %.3f", "write MB/s %.0f", "restore MB/s %.0f", "write CPU s %.2f", "restore CPU s %.2f",
		"write RSS MB %.0f", "restore RSS MB %.0f", "exact %s", "ratio x %.3f", "write x %.2f", "restore x %.2f", "bytes %d")
	wall := func(list []run.Cost) float64 {
		return run.Median(list, func(c run.Cost) float64 { return c.Wall.Seconds() })
	}
	cpu := func(list []run.Cost) float64 {
		return run.Median(list, func(c run.Cost) float64 { return c.CPU.Seconds() })
	}
	rss := func(list []run.Cost) float64 {
		return run.Median(list, func(c run.Cost) float64 { return float64(c.RSS) / 1e6 })
	}
	base := slices.IndexFunc(all, func(m *measured) bool { return m.key == baseline })
	for _, m := range all {
		exact := "no"
		if m.exact {
			exact = "yes"
		}
		row := []any{m.name, float64(size) / float64(m.stored), float64(size) / 1e6 / wall(m.writes), float64(size) / 1e6 / wall(m.restores),
			cpu(m.writes), cpu(m.restores), rss(m.writes), rss(m.restores), exact, nil, nil, nil, m.stored}
		if base >= 0 {
			b := all[base]
			row[9], row[10], row[11] = float64(b.stored)/float64(m.stored), wall(b.writes)/wall(m.writes), wall(b.restores)/wall(m.restores)
		}
		t.Row(row...)
	}
}

// touchMemory writes a file and removes it. A virtual machine may take ten times as long for a
// memory page that it has not used yet or has given up, which hits programs at random.
func touchMemory(size int64) error {
	name := run.Temp("touch")
	defer os.Remove(name)
	return run.WriteFile(name, func(w io.Writer) error {
		buf := make([]byte, 1<<20)
		for ; size > 0; size -= int64(len(buf)) {
			if _, err := w.Write(buf); err != nil {
				return err
			}
		}
		return nil
	})
}

// read reads a file.
func read(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}

// syncFile waits until a file is on the disk.
func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// same compares two files byte by byte.
func same(a, b string) (bool, error) {
	fa, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer fa.Close()
	fb, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer fb.Close()
	ba, bb := make([]byte, 1<<20), make([]byte, 1<<20)
	for {
		na, erra := io.ReadFull(fa, ba)
		nb, errb := io.ReadFull(fb, bb)
		if !bytes.Equal(ba[:na], bb[:nb]) {
			return false, nil
		}
		for _, err := range []error{erra, errb} {
			if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
				return false, err
			}
		}
		if erra != nil {
			return errb != nil, nil
		}
	}
}
