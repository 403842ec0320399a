package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
)

// verifyReport is the JSON of one verified file.
type verifyReport struct {
	File      string       `json:"file"`
	OK        bool         `json:"ok"`
	Damaged   int          `json:"damaged"`
	Size      int64        `json:"size"`
	Entries   int64        `json:"entries"`
	Blocks    int64        `json:"blocks"`
	Image     string       `json:"image"`
	ImageSize int64        `json:"image_size"`
	SHA256    string       `json:"sha256"`
	Seconds   float64      `json:"seconds"`
	Damage    []damageJSON `json:"damage"`
}

// damageJSON is one thing that is wrong; off and len are -1 where unknown.
type damageJSON struct {
	Kind  string  `json:"kind"`
	Off   int64   `json:"off"`
	Len   int64   `json:"len"`
	Var   string  `json:"var,omitempty"`
	Start []int64 `json:"start,omitempty"`
	Count []int64 `json:"count,omitempty"`
	Text  string  `json:"text"`
}

func (a *app) verifyCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [flags] FILE…",
		Short: "Check every byte of archives",
		Long: `Checks every byte of each archive: all checksums, all structures against each
other, and the SHA-256 of the netCDF file. All damage is listed, by variable and
index range and by archive bytes; the last line of a file is "ok" or a count.
Below a folder, files whose names end in .cdfz are checked and all others passed
over. FILE - is standard input.`,
		Args: minFiles(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.verifyAll(cmd.Context(), args)
			return nil
		},
	}
	a.jsonFlag(cmd)
	return cmd
}

// verifyAll checks files and those in folders; of folders it prints how many were
// of which kind.
func (a *app) verifyAll(ctx context.Context, args []string) {
	var ok, damaged, unread int64
	one := func(j job) error {
		whole, err := a.verify(ctx, j.name)
		switch {
		case err != nil:
		case whole:
			ok++
		default:
			damaged++
		}
		return err
	}
	failed := func(name string, err error) {
		unread++
		a.failFile(name, err)
	}
	folders, passed := a.eachFile(ctx, args, archiveName, one, failed)
	if !folders {
		return
	}
	line := fmt.Sprintf("%s: %d ok, %d damaged", count(ok+damaged, "file"), ok, damaged)
	if unread > 0 {
		line += fmt.Sprintf("; %d failed", unread)
	}
	a.report("%s; %d passed over", line, passed)
}

// verify checks one file and prints what is wrong with it. The error is for what
// could not be judged.
func (a *app) verify(ctx context.Context, name string) (ok bool, err error) {
	in, err := a.open(ctx, name)
	if err != nil {
		return false, err
	}
	defer in.close()
	start := time.Now()
	total := in.size
	// How much there is to do is known if the archive opens.
	if r, err := archive.New(in.r, in.size, nil); err == nil {
		i, _ := r.Info()
		total += i.ImageSize
	}
	p := a.progress("verify", in.name, total)
	rep, err := archive.Verify(ctx, in.r, in.size, &archive.VerifyOptions{Workers: a.workers, Progress: p.report()})
	p.end()
	if err != nil {
		return false, explainNotArchive(in, err)
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	out := verifyReport{
		File: reportName(name), OK: len(rep.Damage) == 0, Damaged: len(rep.Damage), Size: rep.Size, Entries: rep.Entries, Blocks: rep.Blocks,
		Image: rep.Image, ImageSize: rep.ImageSize, SHA256: rep.SHA256, Seconds: round(time.Since(start).Seconds(), 6),
		Damage: damageList(rep.Damage),
	}
	if !out.OK {
		a.code = max(a.code, exitDamaged)
	}
	a.printVerified(&out)
	return out.OK, nil
}

func (a *app) printVerified(rep *verifyReport) {
	if a.json {
		a.emit(rep)
		return
	}
	name := printable(showName(rep.File))
	a.printDamage(name, rep.Damage)
	if !rep.OK {
		fmt.Fprintf(a.out, "%s: %d damaged\n", name, rep.Damaged)
		return
	}
	a.report("%s: ok", name)
}

// printDamage lists damage on standard output, also with -q.
func (a *app) printDamage(name string, list []damageJSON) {
	for i := range list {
		d := &list[i]
		at := ""
		switch {
		case d.Off >= 0 && d.Len > 0:
			at = fmt.Sprintf(" bytes %d to %d:", d.Off, d.Off+d.Len)
		case d.Off >= 0:
			at = fmt.Sprintf(" byte %d:", d.Off)
		}
		fmt.Fprintf(a.out, "%s:%s %s\n", printable(name), at, printable(d.Text))
	}
}

// damageList is damage as reports have it.
func damageList(list []archive.Damage) []damageJSON {
	out := make([]damageJSON, len(list))
	for i := range list {
		d := &list[i]
		out[i] = damageJSON{d.Kind, d.Off, d.Len, d.Var, d.Start, d.Count, damageText(d)}
	}
	return out
}

// damageText is the text of a damage without what every one says.
func damageText(d *archive.Damage) string {
	s := packagePrefix().ReplaceAllString(d.Text, "$1")
	return strings.TrimSuffix(s, ": "+archive.ErrCorrupt.Error())
}
