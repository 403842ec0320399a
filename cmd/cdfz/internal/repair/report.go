package repair

import (
	"fmt"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/report"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/runlog"
)

// repairReport is the JSON of a repaired file.
type repairReport struct {
	File      string          `json:"file"`
	Target    string          `json:"target"`    // the file itself, or -o
	Intact    bool            `json:"intact"`    // there was nothing to do
	Identical bool            `json:"identical"` // it is now known to equal the archive as written
	Blocks    int64           `json:"blocks"`
	Kept      int64           `json:"kept"`    // bytes before the index
	Written   int64           `json:"written"` // bytes of index, directory and end
	Headers   int64           `json:"headers"` // rewritten local headers
	Front     bool            `json:"front"`   // plan and Zarr metadata were rewritten
	Healed    int             `json:"healed"`  // netCDF header and second copies that were restored
	After     int64           `json:"after"`   // bytes after the archive, cut off
	Size      int64           `json:"size"`
	Damage    []report.Damage `json:"damage"` // remaining damage
	Parity    *report.Parity  `json:"parity,omitempty"`
	// From is the second copy that was used, and Copied the number of bytes that were taken from it.
	From   string `json:"from,omitempty"`
	Copied int64  `json:"copied,omitempty"`
	// Replaced is set if the whole archive was replaced by the second copy, which has another layout.
	Replaced bool `json:"replaced,omitempty"`
}

// sum is the JSON of the last line.
type sum struct {
	Files    int64 `json:"files"`
	Intact   int64 `json:"intact"`   // there was nothing to do
	Repaired int64 `json:"repaired"` // they have no damage any more
	Damaged  int64 `json:"damaged"`  // damage remains
	Failed   int64 `json:"failed"`
	Skipped  int64 `json:"skipped"`
}

// add counts a file.
func (s *sum) add(rep *repairReport) {
	s.Files++
	switch {
	case len(rep.Damage) > 0:
		s.Damaged++
	case rep.Intact:
		s.Intact++
	default:
		s.Repaired++
	}
}

// text is the summary of a run.
func (s *sum) text() string {
	return fmt.Sprintf("%s: %d intact, %d repaired, %d damaged", display.Count(s.Files, "file"), s.Intact, s.Repaired, s.Damaged)
}

// report reports a file, and notes it in the log.
func (v *repairer) report(j *cli.Job, rep *repairReport) {
	if n := len(rep.Damage); n > 0 {
		j.Term.SetCode(terminal.ExitDamaged)
		j.Entry.Outcome, j.Entry.Exit = runlog.Damaged, terminal.ExitDamaged
		j.Entry.Error = fmt.Sprintf("%d damaged, the first: %s", n, rep.Damage[0].Text)
	}
	shown := terminal.ShowName(rep.File)
	switch {
	case v.run.Dest.IsStdout():
		for i := range rep.Damage {
			j.Term.Message("%s: %s", shown, rep.Damage[i].Text)
		}
		return
	case j.Term.JSON:
		j.Term.Emit(rep)
		return
	}
	report.PrintDamage(j.Term, shown, rep.Damage)
	if rep.Parity != nil && len(rep.Parity.Lost) > 0 {
		j.Term.Print("%s: parity cannot heal %s", shown, report.Ranges(rep.Parity.Lost))
	}
	if rep.Replaced {
		j.Term.Report("%s: replaced by %s, which restores the same netCDF file", shown, rep.From)
		return
	}
	if rep.Intact {
		if len(rep.Damage) == 0 {
			j.Term.Report("%s: nothing to repair", shown)
		} else {
			j.Term.Report("%s: nothing can be repaired", shown)
		}
		return
	}
	line := fmt.Sprintf("%s: %s found, %d bytes kept, %d rewritten", shown, display.Count(rep.Blocks, "block"), rep.Kept, rep.Written)
	if rep.Headers > 0 {
		line += ", " + display.Count(rep.Headers, "local header") + " repaired"
	}
	if rep.Front {
		line += ", metadata regenerated"
	}
	if rep.Healed > 0 {
		line += ", " + display.Count(int64(rep.Healed), "part") + " restored from the other copy"
	}
	line += rep.Parity.Text()
	if rep.Copied > 0 {
		line += fmt.Sprintf(", %s taken from %s", display.Count(rep.Copied, "byte"), rep.From)
	}
	if rep.After > 0 {
		line += fmt.Sprintf(", %d bytes after the archive cut off", rep.After)
	}
	if rep.Identical {
		line += "; identical to the original archive"
	}
	j.Term.Report("%s", line)
}
