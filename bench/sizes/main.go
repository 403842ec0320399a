// Sizes compares the archives of many files, large and small: those of two versions of cdfz, and with the
// sizes that other programs reach.
//
//	go run ./bench/sizes [flags] FILE...
//
// Files may be compressed with gzip or xz. Means are geometric. Files that a program does not archive are
// left out. -parts prints what parts of plan and manifest cost. -presets compares presets instead of programs,
// with the processor time of archive and verify.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/bench/internal/run"
)

var (
	old      = flag.String("old", "", "an older cdfz program to compare with")
	preset   = flag.String("preset", "default", "preset of all archives")
	manifest = flag.String("manifest", "", "JSON with the sizes that peers reach: {\"files\":[{\"file\":NAME,\"peers\":{PEER:BYTES}}]}")
	parts    = flag.Bool("parts", false, "print what parts of plan and manifest cost")
	presets  = flag.String("presets", "", "compare these presets with the first one, as in 'portable default', and print nothing else")
	rounds   = run.Rounds(3)
)

// classes are the lengths of netCDF files in bytes.
var classes = []struct {
	name string
	most int64
}{{"below 16 KiB", 16 << 10}, {"to 256 KiB", 256 << 10}, {"to 8 MiB", 8 << 20}, {"longer", math.MaxInt64}}

func classOf(size int64) int {
	for i, c := range classes {
		if size < c.most {
			return i
		}
	}
	return len(classes) - 1
}

func main() {
	run.Cdfz()
	run.Dir()
	run.Out()
	run.Main("FILE...", 1, math.MaxInt, func(ctx context.Context, names []string) error {
		program, err := run.Build(ctx)
		if err != nil {
			return err
		}
		rep := run.NewReport()
		if *presets != "" {
			if err := comparePresets(ctx, rep, program, names, strings.Fields(*presets)); err != nil {
				return err
			}
			return rep.Save()
		}
		made, err := archiveAll(ctx, program, names)
		if err != nil {
			return err
		}
		total := 0
		for _, a := range made {
			total += len(a.bytes)
		}
		rep.Printf("%d archives with the preset %s, %d bytes\n", len(made), *preset, total)
		if *old != "" {
			before, err := archiveAll(ctx, *old, names)
			if err != nil {
				return err
			}
			compare(rep, before, made)
		}
		if *manifest != "" {
			if err := againstPeers(rep, made); err != nil {
				return err
			}
		}
		if *parts {
			if err := partsOf(rep, made); err != nil {
				return err
			}
		}
		return rep.Save()
	})
}

// made is an archive of a file.
type made struct {
	bytes []byte
	size  int64 // of the netCDF file
}

// archiveAll archives files. The results are by the name of the file.
func archiveAll(ctx context.Context, program string, names []string) (map[string]made, error) {
	out := map[string]made{}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, name := range names {
		g.Go(func() error {
			b, err := exec.CommandContext(ctx, program, "archive", "-q", "--no-check", "--decompress", "--preset", *preset, "-o", "-", name).Output()
			if err != nil {
				var exit *exec.ExitError
				if errors.As(err, &exit) && ctx.Err() == nil {
					run.Say("left out: %s: %s", name, strings.TrimSpace(string(exit.Stderr)))
					return nil
				}
				return err
			}
			m, err := entry[struct{ Size int64 }](b, ".cdfz/manifest.json")
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			out[name] = made{b, m.Size}
			return nil
		})
	}
	return out, g.Wait()
}

// ratios are ratios of sizes, by class.
type ratios [4][]float64

func (r *ratios) add(size int64, ratio float64) {
	i := classOf(size)
	r[i] = append(r[i], ratio)
}

func (r *ratios) all() []float64 { return slices.Concat(r[:]...) }

// mean is the geometric mean, or NaN for no values.
func mean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(list)))
}

// table begins a table with a column for each class.
func table(rep *run.Report, first string) *run.Table {
	columns := []string{first + " %s", "all %.4f"}
	for _, c := range classes {
		columns = append(columns, c.name+" %.4f")
	}
	return rep.Table(columns...)
}

func row(t *run.Table, name string, r *ratios) {
	cells := []any{name, mean(r.all())}
	for _, list := range r {
		cells = append(cells, mean(list))
	}
	t.Row(cells...)
}

// compare prints the sizes relative to those of an older program.
func compare(rep *run.Report, before, now map[string]made) {
	var r ratios
	worst, name := 0.0, ""
	for file, a := range now {
		b, ok := before[file]
		if !ok {
			continue
		}
		ratio := float64(len(a.bytes)) / float64(len(b.bytes))
		r.add(a.size, ratio)
		if ratio > worst {
			worst, name = ratio, file
		}
	}
	row(table(rep, "archives"), "relative to the older program", &r)
	rep.Printf("the largest ratio is %.3f, of %s\n", worst, filepath.Base(name))
}

// readPeers returns the sizes that peers reach, by the name of the file and that of the peer.
func readPeers() (map[string]map[string]int64, error) {
	if *manifest == "" {
		return nil, nil
	}
	text, err := os.ReadFile(*manifest)
	if err != nil {
		return nil, err
	}
	var list struct {
		Files []struct {
			File  string
			Peers map[string]int64
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", *manifest, err)
	}
	by := map[string]map[string]int64{}
	for _, f := range list.Files {
		by[f.File] = f.Peers
	}
	return by, nil
}

// againstPeers prints the sizes relative to those of peers.
func againstPeers(rep *run.Report, now map[string]made) error {
	peers, err := readPeers()
	if err != nil {
		return err
	}
	byPeer := map[string]*ratios{}
	best := &ratios{}
	type loss struct {
		file, peer   string
		theirs, ours int64
	}
	var behind []loss
	for file, a := range now {
		sizes := peers[filepath.Base(file)]
		if len(sizes) == 0 {
			continue
		}
		least, winner := int64(math.MaxInt64), ""
		for peer, n := range sizes {
			if byPeer[peer] == nil {
				byPeer[peer] = &ratios{}
			}
			byPeer[peer].add(a.size, float64(n)/float64(len(a.bytes)))
			if n < least || n == least && peer < winner {
				least, winner = n, peer
			}
		}
		best.add(a.size, float64(least)/float64(len(a.bytes)))
		if float64(len(a.bytes)) > 1.01*float64(least) {
			behind = append(behind, loss{filepath.Base(file), winner, least, int64(len(a.bytes))})
		}
	}
	t := table(rep, "bytes of a peer / of cdfz")
	for _, peer := range sortedKeys(byPeer) {
		row(t, peer, byPeer[peer])
	}
	row(t, "the best of them", best)
	rep.Printf("for %d of %d files, the best peer is smaller by more than 1 %%\n", len(behind), len(best.all()))
	if len(behind) == 0 {
		return nil
	}
	slices.SortFunc(behind, func(a, b loss) int { return cmp.Compare(a.file, b.file) })
	t = rep.Table("file %s", "peer %s", "its bytes %d", "bytes of cdfz %d", "bytes of the peer / of cdfz %.4f")
	for _, l := range behind {
		t.Row(l.file, l.peer, l.theirs, l.ours, float64(l.theirs)/float64(l.ours))
	}
	return nil
}
