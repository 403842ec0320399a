package joined

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
)

// Problem is a difference between members. Errors with problems wrap ErrDiffers.
type Problem struct {
	member   string // location of the member
	variable string // name of the variable, or ""
	text     string // what was expected and found
}

func (p *Problem) Error() string {
	s := "joined: "
	if p.member != "" {
		s += p.member + ": "
	}
	if p.variable != "" {
		s += "variable " + strconv.Quote(p.variable) + ": "
	}
	return s + p.text
}

// Is reports that a problem is an ErrDiffers.
func (p *Problem) Is(target error) bool { return target == ErrDiffers }

// problems collects those of one member.
type problems struct {
	member   string
	list     []*Problem
	converts bool // some times have other units, which can be converted
}

// maxProblems bounds the problems of a member, and those of an axis.
const maxProblems = 20

func (p *problems) add(v, format string, args ...any) {
	if len(p.list) < maxProblems {
		p.list = append(p.list, &Problem{p.member, v, fmt.Sprintf(format, args...)})
	}
}

// err returns the problems as an error, or nil.
func (p *problems) err() error {
	errs := make([]error, len(p.list))
	for i, q := range p.list {
		errs[i] = q
	}
	return errors.Join(errs...)
}

func notExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
