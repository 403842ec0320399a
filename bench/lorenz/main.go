// Lorenz writes the lorenz blocks of archives to a file, for the benchmark of the C decoder in
// c/bench, and measures how fast package lorenz decodes the same blocks.
//
//	go run ./bench/lorenz -dump blocks.bin [-preset default] FILE...    # classic files, or archives
//	go run ./bench/lorenz -time blocks.bin
//
// Numbers in the file are little-endian. A block is a uint32 with the number of its parameters, the
// parameters as uint32 (docs/LORENZ.md, section 1), the first element and the number of elements to
// decode as uint64, here 0 and 2^64 - 1 for all, a uint32 with the length of the encoded block, and the
// block.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/lorenz"
)

func main() {
	dump := flag.String("dump", "", "write the blocks of the arguments to this file")
	measured := flag.String("time", "", "decode the blocks of this file")
	preset := flag.String("preset", "default", "preset for classic files: fast, default or max")
	flag.Parse()
	var err error
	switch {
	case *dump != "" && *measured == "" && flag.NArg() > 0:
		err = dumpFiles(*dump, flag.Args(), *preset)
	case *measured != "" && *dump == "" && flag.NArg() == 0:
		err = measure(*measured)
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lorenz:", err)
		os.Exit(1)
	}
}

func dumpFiles(name string, files []string, preset string) error {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	for _, f := range files {
		if err := dumpFile(w, f, preset); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", f, err), out.Close())
		}
	}
	return errors.Join(w.Flush(), out.Close())
}

// dumpFile writes the blocks of an archive, or of the archive that the preset makes of a classic
// file.
func dumpFile(w io.Writer, name, preset string) error {
	ctx := context.Background()
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	is, err := archive.IsArchive(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	if !is {
		var made bytes.Buffer
		o := &archive.WriteOptions{Name: filepath.Base(name), Preset: archive.Preset(preset)}
		if _, err := archive.Write(ctx, &made, bytes.NewReader(b), int64(len(b)), o); err != nil {
			return err
		}
		b = made.Bytes()
	}
	f, err := archive.New(ctx, bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		return err
	}
	info, _ := f.Info()
	vars := maps.Collect(f.Vars())
	for block, err := range f.Blocks(ctx) {
		if err != nil {
			return err
		}
		var chain filters.Chain
		switch {
		case block.Var >= 0:
			chain = vars[block.Var].Chain()
		case block.Pool >= 0:
			chain = info.Pools[block.Pool].Chain
		}
		if len(chain) != 1 || chain[0].ID != filters.Lorenz || block.Mask != 0 {
			continue
		}
		if err := writeBlock(w, chain[0].Params, b[block.Off:block.Off+block.Len]); err != nil {
			return err
		}
	}
	return nil
}

func writeBlock(w io.Writer, params []uint32, block []byte) error {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(params)))
	for _, p := range params {
		b = binary.LittleEndian.AppendUint32(b, p)
	}
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = binary.LittleEndian.AppendUint64(b, math.MaxUint64)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(block)))
	_, err := w.Write(append(b, block...))
	return err
}

// measure prints the speed of each block as a line: type, mode, bytes, encoded bytes, 10^9 bytes a
// second. The fastest of several runs counts.
func measure(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	word := func() uint32 {
		v := binary.LittleEndian.Uint32(b)
		b = b[4:]
		return v
	}
	w := bufio.NewWriter(os.Stdout)
	for len(b) > 0 {
		params := make([]uint32, word())
		for i := range params {
			params[i] = word()
		}
		b = b[16:]
		n := word()
		block := b[:n]
		b = b[n:]
		p, err := lorenz.ParseParams(params[:4+params[3]])
		if err != nil {
			return err
		}
		size := p.Type.Size()
		for _, d := range p.Dims {
			size *= d
		}
		dst := make([]byte, size)
		d, err := lorenz.NewDecoder(p)
		if err != nil {
			return err
		}
		best := time.Duration(math.MaxInt64)
		for range 5 {
			start := time.Now()
			if err := d.Decode(dst, block); err != nil {
				return err
			}
			best = min(best, time.Since(start))
		}
		fmt.Fprintf(w, "%d %d %d %d %.4f\n", p.Type, block[0], size, n, float64(size)/float64(best.Nanoseconds()))
	}
	return w.Flush()
}
