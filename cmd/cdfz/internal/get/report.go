package get

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats"
)

// report is the JSON of one output.
type report struct {
	File    string      `json:"file"`
	Target  string      `json:"target"`
	Format  string      `json:"format"`
	Vars    []reportVar `json:"vars"`
	Size    int64       `json:"size"` // bytes written
	Explain *cost       `json:"explain,omitempty"`
}

type reportVar struct {
	Name      string  `json:"name"`
	NameHex   string  `json:"name_hex,omitempty"` // if the name is not UTF-8
	Selection string  `json:"selection"`
	Type      string  `json:"type"` // of the values as stored
	Shape     []int64 `json:"shape"`
	Values    int64   `json:"values"`
	Cells     []cell  `json:"cells,omitempty"`
}

// cell is the coordinate of a single value that was selected.
type cell struct {
	Dim   string      `json:"dim"`
	Asked string      `json:"asked"`
	Index int64       `json:"index"`
	Value json.Number `json:"value"`
	Time  string      `json:"time,omitempty"`
}

// cost is the cost of a selection.
type cost struct {
	Blocks    int64   `json:"blocks"`         // needed by the selection
	Decoded   int64   `json:"blocks_decoded"` // read and decoded, including blocks of the rest
	Cached    int64   `json:"blocks_cached"`  // found in the cache
	Reads     int64   `json:"block_reads"`
	Bytes     int64   `json:"block_bytes"`          // stored bytes read
	FileReads int64   `json:"file_reads,omitempty"` // all reads of the file; not for URLs
	FileBytes int64   `json:"file_bytes,omitempty"`
	FileSize  int64   `json:"file_size"`
	Decode    float64 `json:"decode_seconds"` // sum of all processors
	Seconds   float64 `json:"seconds"`
}

// tell reports what was written.
func (r *getRun) tell(path string, sel []*formats.Values, written, blocks int64) {
	rep := &report{File: r.name, Target: path, Format: string(r.format), Size: written}
	values := int64(0)
	for _, s := range sel {
		g := reportVar{Name: s.Name(), Selection: s.Text(), Type: s.StoredType().String()}
		g.Shape, g.Values = s.Shape(), s.Len()
		if !utf8.ValidString(g.Name) {
			g.NameHex = fmt.Sprintf("%x", g.Name)
		}
		for _, c := range s.Cells() {
			g.Cells = append(g.Cells, cell{c.Dim, c.Asked, c.Index, c.Value, c.Time})
		}
		values += g.Values
		rep.Vars = append(rep.Vars, g)
	}
	if r.explain {
		rep.Explain = r.explained(blocks)
	}
	switch {
	case r.run.Term.JSON:
		r.tellJSON(rep)
		return
	case !r.run.Dest.IsStdout():
		r.run.Term.Report("%s: %s, %s", path, display.Count(values, "value"), display.Size(written))
	}
	if e := rep.Explain; e != nil {
		if fileio.IsDataset(r.name) { // members have their own blocks, and are opened meanwhile
			fmt.Fprintf(r.run.Term.Err, "blocks: %d read and decoded in %s, %d found in the cache\n", e.Decoded, display.Count(e.Reads, "read"), e.Cached)
			fmt.Fprintf(r.run.Term.Err, "bytes: %d of blocks; %d written\n", e.Bytes, written)
		} else {
			fmt.Fprintf(r.run.Term.Err, "blocks: %d needed, %d read and decoded in %s, %d found in the cache\n", e.Blocks, e.Decoded, display.Count(e.Reads, "read"), e.Cached)
			fmt.Fprintf(r.run.Term.Err, "bytes: %d of blocks; %d in %s of the file's %d; %d written\n", e.Bytes, e.FileBytes, display.Count(e.FileReads, "read"), e.FileSize, written)
		}
		fmt.Fprintf(r.run.Term.Err, "time: %.6f s, decoding %.6f s\n", e.Seconds, e.Decode)
	}
}

// tellJSON prints an object, on standard error if the data is on standard output.
func (v *getter) tellJSON(rep any) {
	if !v.run.Dest.IsStdout() {
		v.run.Term.Emit(rep)
		return
	}
	v.run.Term.Log(display.JSON(rep))
}

// failed reports an error.
func (v *getter) failed(file string, err error) {
	if v.run.Term.Out.Err() != nil && errors.Is(err, v.run.Term.Out.Err()) {
		return // reported at the end
	}
	text, code := v.run.Term.Fail(file, err)
	if v.run.Term.JSON {
		v.tellJSON(terminal.Failure{File: file, Error: text, Exit: code})
	}
}

// explained returns the counts since the last output.
func (r *getRun) explained(blocks int64) *cost {
	now := r.stats()
	reads, bytes := r.count.counts()
	e := &cost{
		Blocks: blocks, Decoded: now.Blocks - r.was.Blocks, Cached: now.Hits - r.was.Hits,
		Reads: now.Reads - r.was.Reads, Bytes: now.Bytes - r.was.Bytes,
		FileReads: reads - r.wasReads, FileBytes: bytes - r.wasBytes, FileSize: r.in.Size,
		Decode: display.Round((now.Decode - r.was.Decode).Seconds(), 6), Seconds: display.Round(time.Since(r.start).Seconds(), 6),
	}
	r.was, r.wasReads, r.wasBytes, r.start = now, reads, bytes, time.Now()
	return e
}

// stats returns the counters of the archive. They are zero for classic files.
func (r *getRun) stats() archive.Stats {
	return r.f.Stats()
}
