package repair

import (
	"context"
	"path"
	"strings"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// isVolume reports whether the run writes a volume with a new index from another one.
func (v *repairer) isVolume(args []string) bool {
	name, _, _ := strings.Cut(v.run.Dest.Name, "?")
	return len(args) == 1 && path.Ext(args[0]) == volume.Suffix && path.Ext(name) == volume.Suffix && !v.run.Dest.IsDir()
}

// volume writes a volume with the members of another one, by its index or, if that is damaged, by its headers.
func (v *repairer) volume(ctx context.Context, name string) {
	dest := v.run.Dest.Name
	members, size, err := v.writeVolume(ctx, name)
	switch {
	case err != nil:
		v.run.Term.FailFile(terminal.ShowName(name), err)
	case v.run.Term.JSON:
		v.run.Term.Emit(struct {
			File    string `json:"file"`
			Target  string `json:"target"`
			Members int64  `json:"members"`
			Size    int64  `json:"size"`
		}{terminal.ReportName(name), terminal.ReportName(dest), members, size})
	default:
		v.run.Term.Report("%s: %s, %s", terminal.ShowTarget(dest), display.Count(members, "member"), display.Size(size))
	}
}

func (v *repairer) writeVolume(ctx context.Context, name string) (members, size int64, err error) {
	out, err := v.run.Target(v.run.Dest.Name, nil).Sink(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer out.Abort()
	members, size, err = v.run.In.CopyVolume(ctx, name, out)
	if err == nil {
		err = out.Commit(ctx)
	}
	return members, size, err
}
