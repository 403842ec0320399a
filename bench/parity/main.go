// Command parity compares the parity of cdfz with par2 over one archive: processor time,
// bytes, and what heals. Both get the same share and the same damage, in turns.
//
//	go run ./bench/parity -n 3 x.nc.cdfz     # an archive without parity
//
// It needs the program par2. Only the bytes of the archive are damaged, not par2's files.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

func main() {
	n := flag.Int("n", 3, "runs of each")
	share := flag.Int("share", 5, "percent of parity")
	block := flag.Int("block", 4096, "block size of par2")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *n, *share, *block); err != nil {
		fmt.Fprintln(os.Stderr, "parity:", err)
		os.Exit(1)
	}
}

// bench holds the files of a comparison.
type bench struct {
	dir, cdfz string
	plain     []byte // the archive without parity
	protected []byte // with it
	share     int
	block     int
}

func run(name string, n, share, block int) error {
	dir, err := os.MkdirTemp("", "parity")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, cdfz: filepath.Join(dir, "cdfz"), share: share, block: block}
	if out, err := exec.Command("go", "build", "-o", b.cdfz, "./cmd/cdfz").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if b.plain, err = os.ReadFile(name); err != nil {
		return err
	}
	fmt.Printf("%s, %d bytes, %d%% of parity, %d runs of each; medians of user and system time\n\n", filepath.Base(name), len(b.plain), share, n)
	fmt.Printf("%-34s %-6s %10s %10s %10s\n", "", "", "CPU s", "wall s", "result")
	if err := b.create(n); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 1))
	for _, d := range []struct {
		name string
		hit  func(x []byte)
	}{
		{"one burst of 2 %", func(x []byte) { burst(r, x, len(x)/50) }},
		{"one burst of 4 %", func(x []byte) { burst(r, x, len(x)/25) }},
		{"2 % in sectors of 4 KiB", func(x []byte) { sectors(r, x, len(x)/50, true) }},
		{"2 % in sectors at any offset", func(x []byte) { sectors(r, x, len(x)/50, false) }},
		{"4 % in sectors of 4 KiB", func(x []byte) { sectors(r, x, len(x)/25, true) }},
		{"6 % in sectors of 4 KiB", func(x []byte) { sectors(r, x, len(x)*6/100, true) }},
	} {
		if err := b.repair(n, d.name, d.hit); err != nil {
			return err
		}
	}
	return nil
}

func burst(r *rand.Rand, x []byte, n int) { clear(x[r.IntN(len(x)-n):][:n]) }

func sectors(r *rand.Rand, x []byte, n int, aligned bool) {
	for ; n >= 4096; n -= 4096 {
		off := r.IntN(len(x) - 4096)
		if aligned {
			off &^= 4095
		}
		clear(x[off : off+4096])
	}
}

// times are those of several runs of a command.
type times struct{ cpu, wall []time.Duration }

// timed runs a command; a failure of the command is no error.
func (t *times) timed(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	t.wall = append(t.wall, time.Since(start))
	t.cpu = append(t.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	return nil
}

func (t *times) print(what, who, result string) {
	slices.Sort(t.cpu)
	slices.Sort(t.wall)
	fmt.Printf("%-34s %-6s %10.2f %10.2f %10s\n", what, who, t.cpu[len(t.cpu)/2].Seconds(), t.wall[len(t.wall)/2].Seconds(), result)
}

func (b *bench) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(b.dir, name), data, 0o666)
}

func (b *bench) create(n int) error {
	var ours, par2 times
	for range n {
		if err := b.write("a.cdfz", b.plain); err != nil {
			return err
		}
		if err := b.write("p.cdfz", b.plain); err != nil {
			return err
		}
		if err := ours.timed(b.dir, b.cdfz, "parity", "-q", "-p", fmt.Sprint(b.share), "a.cdfz"); err != nil {
			return err
		}
		old, err := filepath.Glob(filepath.Join(b.dir, "*.par2"))
		if err != nil {
			return err
		}
		for _, f := range old {
			if err := os.Remove(f); err != nil {
				return err
			}
		}
		if err := par2.timed(b.dir, "par2", "create", "-q", "-q", "-n1", fmt.Sprintf("-s%d", b.block), fmt.Sprintf("-r%d", b.share), "p.par2", "p.cdfz"); err != nil {
			return err
		}
	}
	var err error
	if b.protected, err = os.ReadFile(filepath.Join(b.dir, "a.cdfz")); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(b.dir, "*.par2"))
	if err != nil {
		return err
	}
	var size int64
	for _, f := range files {
		st, err := os.Stat(f)
		if err != nil {
			return err
		}
		size += st.Size()
	}
	percent := func(n int64) string { return fmt.Sprintf("+%.2f %%", 100*float64(n)/float64(len(b.plain))) }
	ours.print("create (cdfz verifies first)", "cdfz", percent(int64(len(b.protected)-len(b.plain))))
	par2.print("create", "par2", percent(size))
	return nil
}

// repair applies the same damage for both programs.
func (b *bench) repair(n int, what string, hit func([]byte)) error {
	var ours, par2 times
	healed, healed2 := 0, 0
	for range n {
		bad := bytes.Clone(b.plain)
		hit(bad)
		full := bytes.Clone(b.protected)
		// The bytes before the manifest are the same in both files.
		for i := range bad {
			if bad[i] != b.plain[i] {
				full[i] = bad[i]
			}
		}
		if err := b.write("a.cdfz", full); err != nil {
			return err
		}
		if err := b.write("p.cdfz", bad); err != nil {
			return err
		}
		if err := ours.timed(b.dir, b.cdfz, "repair", "-q", "a.cdfz"); err != nil {
			return err
		}
		if err := par2.timed(b.dir, "par2", "repair", "-q", "-q", "p.par2"); err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(b.dir, "a.cdfz"))
		if err != nil {
			return err
		}
		if bytes.Equal(got, b.protected) {
			healed++
		}
		if got, err = os.ReadFile(filepath.Join(b.dir, "p.cdfz")); err != nil {
			return err
		}
		if bytes.Equal(got, b.plain) {
			healed2++
		}
		// par2 keeps the damaged file beside.
		old, err := filepath.Glob(filepath.Join(b.dir, "p.cdfz.*"))
		if err != nil {
			return err
		}
		for _, f := range old {
			if err := os.Remove(f); err != nil {
				return err
			}
		}
	}
	ours.print(what, "cdfz", fmt.Sprintf("%d of %d", healed, n))
	par2.print(what, "par2", fmt.Sprintf("%d of %d", healed2, n))
	return nil
}
