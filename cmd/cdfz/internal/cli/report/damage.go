package report

import (
	"fmt"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// Damage describes one damage. Off and Len are -1 where unknown.
type Damage struct {
	Kind  string  `json:"kind"`
	Off   int64   `json:"off"`
	Len   int64   `json:"len"`
	Var   string  `json:"var,omitempty"`
	Start []int64 `json:"start,omitempty"`
	Count []int64 `json:"count,omitempty"`
	// Vars are the variables in a block that several share.
	Vars []Damaged `json:"vars,omitempty"`
	Text string    `json:"text"`
}

// Damaged is the damaged part of a variable.
type Damaged struct {
	Var   string  `json:"var"`
	Start []int64 `json:"start"`
	Count []int64 `json:"count"`
}

// PrintDamage lists damage on standard output, also with -q.
func PrintDamage(p *terminal.Printer, name string, list []Damage) {
	for i := range list {
		d := &list[i]
		at := ""
		switch {
		case d.Off >= 0 && d.Len > 0:
			at = fmt.Sprintf(" bytes %d to %d:", d.Off, d.Off+d.Len)
		case d.Off >= 0:
			at = fmt.Sprintf(" byte %d:", d.Off)
		}
		p.Print("%s:%s %s", name, at, d.Text)
	}
}

// DamageList converts damage for reports.
func DamageList(list []verify.Damage) []Damage {
	out := make([]Damage, len(list))
	for i := range list {
		d := &list[i]
		var vars []Damaged
		for _, p := range d.Parts {
			vars = append(vars, Damaged{p.Var, p.Start, p.Count})
		}
		out[i] = Damage{d.Kind, d.Off, d.Len, d.Var, d.Start, d.Count, vars, damageText(d)}
	}
	return out
}

// damageText returns the text of a damage without the common ending.
func damageText(d *verify.Damage) string {
	return strings.TrimSuffix(terminal.WithoutPackages(d.Text), ": "+archive.ErrCorrupt.Error())
}
