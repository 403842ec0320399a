package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/cdf3"
)

// growth measures how the cost of volumes grows with the number of their members: tiny archives in folders of 1000.
func growth(ctx context.Context, list string) error {
	cdfz, err := run.Build(ctx)
	if err != nil {
		return err
	}
	rep := run.NewReport()
	rep.Printf("a volume of so many archives; seconds of processor time, and peak MB of the process\n")
	t := rep.Table("members %d", "bytes %d", "pack, s %.2f", "MB %.0f", "again, s %.2f", "MB %.0f", "verify, s %.2f", "MB %.0f", "list, s %.2f", "MB %.0f",
		"rebuild, s %.2f", "MB %.0f", "a value, ms %.0f", "MB %.0f", "reads to open %d", "kB %.0f", "to find %d", "kB %.0f", "requests %d", "kB %.0f")
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-members: expected numbers from 1 on, found %q", text)
		}
		if err := grow(ctx, cdfz, n, t); err != nil {
			return fmt.Errorf("%d members: %w", n, err)
		}
	}
	return rep.Save()
}

func grow(ctx context.Context, cdfz string, n int, t *run.Table) error {
	arch, vol := run.Temp("arch"), run.Temp("vol")
	if err := tiny(ctx, arch, n); err != nil {
		return err
	}
	var row []any
	measure := func(unit float64, args ...string) error {
		cmd := exec.CommandContext(ctx, cdfz, args...)
		c, err := run.Cmd(cmd, nil) // the output goes nowhere
		row = append(row, unit*c.CPU.Seconds(), float64(c.RSS)/1e6)
		return err
	}
	at := filepath.Join(vol, "0001.tar")
	cut := run.Temp("cut.tar")
	err := errors.Join(measure(1, "pack", "-q", "-o", vol+"/", arch), measure(1, "pack", "-q", "-o", vol+"/", arch), os.RemoveAll(arch),
		measure(1, "verify", "-q", vol), measure(1, "info", "--json", vol))
	if err != nil {
		return err
	}
	st, err := os.Stat(at)
	if err != nil {
		return err
	}
	// A volume without its end is a member shorter.
	member := name(n / 2)
	if err := os.Link(at, cut); err != nil {
		return err
	}
	if err := os.Remove(at); err != nil {
		return err
	}
	if err := os.Truncate(cut, st.Size()-zerosAndTrailer); err != nil {
		return err
	}
	if err := measure(1, "repair", "-q", "-o", at, cut); err != nil {
		return err
	}
	if err := errors.Join(os.Remove(cut), measure(1000, "get", "-q", at+"/"+member, "v[0]")); err != nil {
		return err
	}
	f, err := os.Open(at)
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil {
		return err
	}
	r := &counting{r: f}
	v, err := volume.Open(ctx, r, st.Size())
	if err != nil {
		return err
	}
	row = append(row, r.reads, float64(r.bytes)/1e3)
	*r = counting{r: f}
	if _, err := v.Lookup(ctx, member); err != nil {
		return err
	}
	row = append(row, r.reads, float64(r.bytes)/1e3)
	s := serve(vol)
	defer s.close()
	if _, err := run.Command(ctx, cdfz, "get", "-q", s.url()+"/0001.tar/"+member, "v[0]"); err != nil {
		return err
	}
	row = append(row, s.requests.Load(), float64(s.bytes.Load())/1e3)
	t.Row(append([]any{n, st.Size()}, row...)...)
	return os.RemoveAll(vol)
}

// zerosAndTrailer is the length of the end of a volume.
const zerosAndTrailer = 1536

// counting counts reads.
type counting struct {
	r     io.ReaderAt
	reads int
	bytes int64
}

// ReadAt implements io.ReaderAt.
func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.reads++
	c.bytes += int64(n)
	return n, err
}

// name is the path of an archive.
func name(i int) string { return fmt.Sprintf("%04d/station%07d.nc.cdfz", i/1000, i) }

// tiny makes archives that are as small as they become, each of another image: equal ones would be links in a volume.
func tiny(ctx context.Context, dir string, n int) error {
	// The peak of a program that is started is at least that of this one.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(24 << 20))
	values := make([]float32, 16)
	var image, out bytes.Buffer
	for i := range n {
		b := cdf3.NewBuilder(cdf3.Classic)
		b.Attr("station", int32(i))
		x := b.Dim("x", 16)
		for k := range values {
			values[k] = float32(i%100*k) / 7
		}
		b.Var("v", cdf3.Float, x).Values(values)
		image.Reset()
		out.Reset()
		if err := b.WriteFile(ctx, &image); err != nil {
			return err
		}
		if _, err := archive.Write(ctx, &out, bytes.NewReader(image.Bytes()), int64(image.Len()), nil); err != nil {
			return err
		}
		path := filepath.Join(dir, name(i))
		if i%1000 == 0 {
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				return err
			}
		}
		if err := os.WriteFile(path, out.Bytes(), 0o666); err != nil {
			return err
		}
	}
	return nil
}
