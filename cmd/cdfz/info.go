package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/spec"
)

// infoReport is the JSON of one archive.
type infoReport struct {
	File        string    `json:"file"`
	Image       string    `json:"image"`
	Size        int64     `json:"size"`
	Format      string    `json:"format"`
	Records     int64     `json:"records"`
	ArchiveSize int64     `json:"archive_size"`
	Ratio       float64   `json:"ratio"`
	Layout      string    `json:"layout"`
	Blocks      int64     `json:"blocks"`
	Structure   int64     `json:"structure"` // bytes that are no blocks
	Writer      string    `json:"writer"`
	SHA256      string    `json:"sha256"`
	Vars        []infoVar `json:"vars"`
	Rest        infoRest  `json:"rest"`
	// Omitted are attributes that the Zarr view leaves out.
	Omitted []infoOmitted `json:"omitted"`
}

type infoVar struct {
	Num     int     `json:"num"`
	Name    string  `json:"name"`
	NameHex string  `json:"name_hex,omitempty"` // if the name is not UTF-8
	Path    string  `json:"path,omitempty"`
	Type    string  `json:"type"`
	Shape   []int64 `json:"shape"`
	Block   []int64 `json:"block"` // null if it is not blocked
	Chain   string  `json:"chain,omitempty"`
	Blocked bool    `json:"blocked"`
	Why     string  `json:"why,omitempty"` // why it is not blocked
	InView  bool    `json:"in_view"`
	WhyView string  `json:"why_not_in_view,omitempty"`
	Blocks  int64   `json:"blocks"`
	Raw     int64   `json:"raw"`
	Stored  int64   `json:"stored"`
	Ratio   float64 `json:"ratio"`
}

type infoRest struct {
	Chain  string `json:"chain"`
	Blocks int64  `json:"blocks"`
	Raw    int64  `json:"raw"`
	Stored int64  `json:"stored"`
}

type infoOmitted struct {
	Var  string `json:"var,omitempty"` // none: an attribute of the file
	Attr string `json:"attr"`
	Why  string `json:"why"`
}

type infoBlock struct {
	Num   int64   `json:"num"`
	Var   string  `json:"var,omitempty"` // none: the rest
	Name  string  `json:"name"`
	Start []int64 `json:"start,omitempty"`
	Count []int64 `json:"count,omitempty"`
	Off   int64   `json:"off"`
	Len   int64   `json:"len"`
	Raw   int64   `json:"raw"`
	Mask  uint32  `json:"mask"`
	CRC   string  `json:"crc32"`
}

func (a *app) infoCmd() *cobra.Command {
	var blocks, why bool
	cmd := &cobra.Command{
		Use:   "info [flags] FILE…",
		Short: "Show what is in archives",
		Long: `Shows the netCDF file that an archive holds, and its variables: type, shape, block
shape, filters as -F takes them, bytes, and whether readers of Zarr see them.
Below a folder, files whose names end in .cdfz are shown and all others passed over.`,
		Args: minFiles(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			shown := 0
			one := func(j job) error {
				if shown++; shown > 1 && !a.json {
					fmt.Fprintln(a.out)
				}
				return a.info(cmd.Context(), j.name, blocks, why)
			}
			if folders, passed := a.eachFile(cmd.Context(), args, archiveName, one, a.failFile); folders && shown == 0 {
				a.report("no archives; %d passed over", passed)
			}
			return nil
		},
	}
	a.jsonFlag(cmd)
	cmd.Flags().BoolVar(&blocks, "blocks", false, "list every block")
	cmd.Flags().BoolVar(&why, "why", false, "say why variables are not blocked and what the Zarr view leaves out")
	return cmd
}

func (a *app) info(ctx context.Context, name string, blocks, why bool) error {
	in, r, err := a.openArchive(ctx, name)
	if err != nil {
		return err
	}
	defer in.close()
	rep, err := makeInfo(ctx, reportName(name), in.size, r)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(rep)
	} else {
		a.printInfo(rep)
		if why {
			a.printWhy(rep)
		}
	}
	if blocks {
		return a.printBlocks(ctx, reportName(name), r)
	}
	return nil
}

func makeInfo(ctx context.Context, name string, size int64, r *archive.File) (*infoReport, error) {
	i, _ := r.Info()
	h := r.Header()
	rep := &infoReport{
		File: name, Image: i.ImageName, Size: i.ImageSize, Format: fmt.Sprintf("CDF-%d", h.Version), Records: h.NumRecs,
		ArchiveSize: size, Ratio: ratio(i.ImageSize, size), Layout: string(i.Layout), Blocks: i.Blocks,
		Structure: size - i.Stored, Writer: i.Writer, SHA256: i.SHA256,
		Vars: []infoVar{}, Omitted: []infoOmitted{},
	}
	stored, restStored, err := r.Stored(ctx)
	if err != nil {
		return nil, err
	}
	for num, w := range r.Vars() {
		v := w.Info()
		o := infoVar{
			Num: num, Name: w.Name(), Path: v.Path, Type: w.Type().String(), Shape: slices.Concat([]int64{}, w.Shape()), Block: v.Block,
			Blocked: v.Blocked, Why: v.Why, InView: v.InView, WhyView: packagePrefix().ReplaceAllString(v.View, "$1"),
			Blocks: v.Blocks, Raw: h.Vars[num].Len, Stored: stored[num], Ratio: ratio(h.Vars[num].Len, stored[num]),
		}
		if v.Blocked {
			o.Chain = chainText(v.Chain)
		}
		if !utf8.ValidString(o.Name) {
			o.NameHex = fmt.Sprintf("%x", o.Name)
		}
		rep.Vars = append(rep.Vars, o)
	}
	rep.Rest = infoRest{chainText(i.Rest.Chain), i.Rest.Blocks, i.Rest.Len, restStored}
	for _, o := range r.Omitted() {
		x := infoOmitted{Attr: o.Attr, Why: o.Why}
		if o.Var >= 0 {
			x.Var = h.Vars[o.Var].Name
		}
		rep.Omitted = append(rep.Omitted, x)
	}
	return rep, nil
}

// chainText is a chain as -F takes it.
func chainText(c filters.Chain) string {
	if len(c) == 0 {
		return "none"
	}
	return c.String()
}

func (a *app) printInfo(rep *infoReport) {
	out := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	defer out.Flush()
	fmt.Fprintf(out, "archive\t%s\n", quoted(showName(rep.File)))
	image := rep.Image
	if image == "" {
		image = "-"
	}
	fmt.Fprintf(out, "image\t%s\n", quoted(image))
	fmt.Fprintf(out, "format\t%s, %s\n", rep.Format, count(rep.Records, "record"))
	fmt.Fprintf(out, "image size\t%d (%s)\n", rep.Size, size(rep.Size))
	fmt.Fprintf(out, "archive size\t%d (%s), %d of them structure\n", rep.ArchiveSize, size(rep.ArchiveSize), rep.Structure)
	fmt.Fprintf(out, "ratio\t%.3f\n", rep.Ratio)
	fmt.Fprintf(out, "layout\t%s, %s, written by %s\n", rep.Layout, count(rep.Blocks, "block"), printable(rep.Writer))
	fmt.Fprintf(out, "sha256\t%s\n", printable(rep.SHA256))
	out.Flush()
	fmt.Fprintln(a.out)
	table := [][]string{{"variable", "type", "shape", "block", "filters", "raw", "stored", "ratio", "zarr"}}
	var used []uint32
	for i := range rep.Vars {
		v := &rep.Vars[i]
		row := []string{quoted(v.Name), v.Type, shapeText(v.Shape), "-", "-", strconv.FormatInt(v.Raw, 10), "-", "-", v.viewText(rep.Layout)}
		if v.Blocked {
			row[3], row[4], row[6] = shapeText(v.Block), v.Chain, strconv.FormatInt(v.Stored, 10)
			if v.Stored > 0 {
				row[7] = fmt.Sprintf("%.2f", v.Ratio)
			}
			used = append(used, filterIDs(v.Chain)...)
		}
		table = append(table, row)
	}
	row := []string{"(rest)", "", "", "", rep.Rest.Chain, strconv.FormatInt(rep.Rest.Raw, 10), strconv.FormatInt(rep.Rest.Stored, 10), "", ""}
	if rep.Rest.Stored > 0 {
		row[7] = fmt.Sprintf("%.2f", ratio(rep.Rest.Raw, rep.Rest.Stored))
	}
	table = append(table, row)
	writeTable(a.out, table, []bool{5: true, 6: true, 7: true, 8: false})
	used = append(used, filterIDs(rep.Rest.Chain)...)
	slices.Sort(used)
	for i, id := range slices.Compact(used) {
		if i == 0 {
			fmt.Fprint(a.out, "filters:")
		} else {
			fmt.Fprint(a.out, ",")
		}
		name := filters.Name(id)
		if name == "" {
			name = "unknown"
		}
		fmt.Fprintf(a.out, " %d %s", id, name)
	}
	if len(used) > 0 {
		fmt.Fprintln(a.out)
	}
}

// viewText says whether a variable is in the Zarr view or why not.
func (v *infoVar) viewText(layout string) string {
	switch {
	case v.InView:
		return "yes"
	case v.WhyView != "":
		return "no: " + printable(v.WhyView)
	case !v.Blocked:
		return "no: " + printable(v.Why)
	}
	return "no: a " + layout + " archive"
}

func filterIDs(chain string) (ids []uint32) {
	c, err := spec.ParseChain(chain, nil)
	if err != nil {
		return nil // "none"
	}
	for _, f := range c {
		ids = append(ids, f.ID)
	}
	return ids
}

// shapeText is a shape as in (365, 3, 181); a scalar's is ().
func shapeText(s []int64) string {
	words := make([]string, len(s))
	for i, n := range s {
		words[i] = strconv.FormatInt(n, 10)
	}
	return "(" + strings.Join(words, ",") + ")"
}

// writeTable writes columns, those marked aligned to the right.
func writeTable(w io.Writer, rows [][]string, right []bool) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				b.WriteString("  ")
			}
			if i < len(right) && right[i] {
				b.WriteString(pad + cell)
			} else {
				b.WriteString(cell + pad)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

func (a *app) printWhy(rep *infoReport) {
	n := 0
	line := func(format string, args ...any) {
		if n++; n == 1 {
			fmt.Fprintln(a.out)
		}
		fmt.Fprintf(a.out, format+"\n", args...)
	}
	for i := range rep.Vars {
		v := &rep.Vars[i]
		if !v.Blocked {
			line("variable %s has no blocks of its own: %s", quoted(v.Name), printable(v.Why))
		}
		if v.WhyView != "" {
			line("variable %s is not in the Zarr view: %s", quoted(v.Name), printable(v.WhyView))
		}
	}
	if rep.Layout != string(archive.Viewed) {
		line("there is no Zarr view: a %s archive; cdfz archive --zarr always makes one", rep.Layout)
	}
	for _, o := range rep.Omitted {
		line("attribute %s:%s is not in the Zarr view: %s", quotedVar(o.Var), quoted(o.Attr), printable(o.Why))
	}
	if n == 0 {
		line("every variable has blocks of its own; the Zarr view leaves nothing out")
	}
}

// quotedVar is the variable in VAR:ATTR, empty for attributes of the file.
func quotedVar(name string) string {
	if name == "" {
		return ""
	}
	return quoted(name)
}

func (a *app) printBlocks(ctx context.Context, name string, r *archive.File) error {
	h := r.Header()
	if !a.json {
		fmt.Fprintf(a.out, "\n%8s  %12s  %10s  %10s  %8s  %8s  %s\n", "block", "offset", "stored", "raw", "mask", "crc32", "entry and index range")
	}
	for b, err := range r.Blocks(ctx) {
		if err != nil {
			return err
		}
		if a.out.err != nil {
			return nil // reported at the end
		}
		o := infoBlock{Num: b.Num, Name: b.Name, Start: b.Start, Count: b.Count, Off: b.Off, Len: b.Len, Raw: b.Raw, Mask: b.Mask, CRC: fmt.Sprintf("%08x", b.CRC)}
		if b.Var >= 0 {
			o.Var = h.Vars[b.Var].Name
		}
		if a.json {
			a.emit(struct {
				File  string    `json:"file"`
				Block infoBlock `json:"block"`
			}{name, o})
			continue
		}
		fmt.Fprintf(a.out, "%8d  %12d  %10d  %10d  %8x  %s  %s%s\n", o.Num, o.Off, o.Len, o.Raw, o.Mask, o.CRC, quoted(o.Name), rangeText(o.Start, o.Count))
	}
	return nil
}

// rangeText is an index range as in [0:10, 5:6].
func rangeText(start, count []int64) string {
	if start == nil {
		return ""
	}
	words := make([]string, len(start))
	for i := range start {
		words[i] = fmt.Sprintf("%d:%d", start[i], start[i]+count[i])
	}
	return " [" + strings.Join(words, ", ") + "]"
}
