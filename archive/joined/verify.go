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
	b := &BuildOptions{Dim: desc.Dim, New: desc.New, Vars: desc.Vars, First: desc.First, Progress: progress}
	var locations []string
	var known []Member
	for i := range desc.Members {
		m := &desc.Members[i]
		b.SkipMissing = b.SkipMissing || m.Part
		if !desc.continues(i) {
			locations, known = append(locations, m.Location), append(known, *m)
		}
	}
	if o != nil {
		b.Options = *o
	}
	now, gaps, err := build(ctx, locations, open, b, known)
	if err != nil {
		return 0, gaps, err
	}
	var errs []error
	if now.Convert && !desc.Convert {
		errs = append(errs, &Problem{"", desc.Dim, "members have different units of time, and the description lacks " + unitsChange})
	}
	if len(now.Members) != len(desc.Members) {
		errs = append(errs, &Problem{"", desc.Dim, fmt.Sprintf("expected %d parts of files between missing coordinates, as described, found %d", len(desc.Members), len(now.Members))})
	}
	for i := range min(len(now.Members), len(desc.Members)) {
		m, found := &desc.Members[i], &now.Members[i]
		if found.SHA256 == "" {
			sampled++
		}
		err := m.differs(found)
		switch {
		case err != nil:
		case !m.Part && !found.Part:
			err = desc.checkLen(m, found.Len)
		case m.Len != found.Len || m.Start != found.Start:
			err = &Problem{m.shown(), "", fmt.Sprintf("expected %d indices of dimension %q from %d on, as described, found %d from %d on", m.Len, desc.Dim, m.Start, found.Len, found.Start)}
		}
		if err != nil && len(errs) < maxErrors {
			errs = append(errs, err)
		}
	}
	return sampled, gaps, errors.Join(errs...)
}

// checkLen compares the number of indices of a member's file with the described one. The error is a *Problem.
func (desc *Description) checkLen(m *Member, found int64) error {
	switch {
	case m.Part && m.Start+m.Len > found:
		return &Problem{m.shown(), "", fmt.Sprintf("expected at least %d indices of dimension %q, as described, found %d", m.Start+m.Len, desc.Dim, found)}
	case m.Part || m.Len < 0 || m.Len == found:
		return nil
	}
	return &Problem{m.shown(), "", fmt.Sprintf("expected %d indices of dimension %q, as described, found %d", m.Len, desc.Dim, found)}
}
