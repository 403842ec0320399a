package joined

import (
	"context"
	"errors"
	"fmt"
)

// Verify compares all members with their description, and with each other as Build does. It also reads each
// classic member whose SHA-256 is described as a whole. Blocks of archives are not read if no coordinate and
// no variable without the joined dimension is in them. sampled is the number of classic members without a
// described SHA-256, for which their sample has to do.
//
// Gaps and errors are those of Build, also for members that are no longer as described. progress is that of
// BuildOptions.
func (desc *Description) Verify(ctx context.Context, open Opener, o *Options, progress func(done int64)) (sampled int, gaps []*Problem, err error) {
	if err := desc.check(); err != nil {
		return 0, nil, err
	}
	locations := make([]string, len(desc.Members))
	for i := range desc.Members {
		locations[i] = desc.Members[i].Location
	}
	b := &BuildOptions{Dim: desc.Dim, New: desc.New, Vars: desc.Vars, First: desc.First, Progress: progress}
	if o != nil {
		b.Options = *o
	}
	now, gaps, err := build(ctx, locations, open, b, desc.Members)
	if err != nil {
		return 0, gaps, err
	}
	var errs []error
	if now.Convert && !desc.Convert {
		errs = append(errs, &Problem{"", desc.Dim, "members have different units of time, and the description lacks " + unitsChange})
	}
	for i := range now.Members {
		m, found := &desc.Members[i], &now.Members[i]
		if found.SHA256 == "" {
			sampled++
		}
		err := m.differs(found)
		if err == nil && m.Len >= 0 && m.Len != found.Len {
			err = desc.otherLen(m, found.Len)
		}
		if err != nil && len(errs) < maxErrors {
			errs = append(errs, err)
		}
	}
	return sampled, gaps, errors.Join(errs...)
}

// otherLen is the error of a member with another number of indices than described.
func (desc *Description) otherLen(m *Member, found int64) error {
	return &Problem{m.shown(), "", fmt.Sprintf("expected %d indices of dimension %q, as described, found %d", m.Len, desc.Dim, found)}
}
