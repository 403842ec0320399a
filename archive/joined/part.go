package joined

import (
	"context"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cf"
)

// Part is an open member of a dataset.
type Part struct {
	// Location is that of the description, with the suffix of archives if the archive is open.
	Location string
	Len      int64 // number of joined indices; Dataset.Start has the first one
	File     *archive.File
	Vars     []int // for each variable of the joined file, its number in File; -1 if First allows that it has none
}

// Joins reports whether variable number v of the joined file has the joined dimension. The others are
// those of the first member.
func (d *Dataset) Joins(v int) bool { return d.t.joins[v] }

// Converts reports whether values of variable number v may be converted, so that the bytes of a member are not
// those of the joined file.
func (d *Dataset) Converts(v int) bool {
	if !d.t.desc.Convert || !d.t.joins[v] {
		return false
	}
	_, err := cf.UnitsOf(d.t.first, v)
	return err == nil
}

// Start returns the first joined index of member i, or the number of all indices for i after the last.
func (d *Dataset) Start(i int) int64 { return d.starts[i] }

// Part calls f with member i, which is open until f returns. Errors name the member.
func (d *Dataset) Part(ctx context.Context, i int, f func(p *Part) error) error {
	m, err := d.members.acquire(ctx, i)
	if err != nil {
		return err
	}
	defer d.members.release(m)
	p := &Part{Location: d.t.desc.Members[i].Location, Len: d.starts[i+1] - d.starts[i], File: m.f, Vars: m.vars}
	// Folder and FS add the suffix only to a location without a file.
	if strings.HasSuffix(m.f.Name(), archive.Suffix) && !strings.HasSuffix(p.Location, archive.Suffix) {
		p.Location = withSuffix(p.Location)
	}
	if err := f(p); err != nil {
		return inMember(d.t.desc.Members[i].Location, err)
	}
	return nil
}
