package get

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats"
)

// nearName adds a hint to the error about a missing variable.
func nearName(err error) error {
	var e *formats.NameError
	if !errors.As(err, &e) || len(e.Names) == 0 {
		return err
	}
	if _, no := os.Lstat(e.Name); no == nil {
		return terminal.Hinted(err, "there is a file of this name; quote selections, or the shell takes them for patterns of file names")
	}
	if strings.Trim(e.Name, "0123456789:-.,[] ") == "" && e.Name != "" {
		return terminal.Hinted(err, "a selection follows its variable in brackets, quoted for the shell, as in 'tas[0:10]'")
	}
	names := nearNames(e.Names, e.Name)
	if len(names) > 0 {
		return terminal.Hinted(err, "did you mean %s?", strings.Join(names, ", "))
	}
	for i, name := range e.Names {
		if i == maxNames {
			names = append(names, fmt.Sprintf("and %d more", len(e.Names)-i))
			break
		}
		names = append(names, display.Quoted(name))
	}
	return terminal.Hinted(err, "there are %s", strings.Join(names, ", "))
}

// nearValue adds a hint to the error of a selection that --nearest would allow.
func (v *getter) nearValue(ctx context.Context, f *archive.File, s *formats.Selection, err error) error {
	if !errors.Is(err, formats.ErrSelection) || v.o.Nearest {
		return err
	}
	o := v.o
	o.Nearest = true
	if x, no := s.Apply(ctx, f, &o); no != nil || x.Len() == 0 {
		return err
	}
	return terminal.Hinted(err, "--nearest takes the nearest value")
}

// maxNames is the number of names that an error lists.
const maxNames = 12

// nearNames returns the variables with similar names, the nearest first.
func nearNames(all []string, name string) []string {
	type near struct {
		name string
		far  int
	}
	var found []near
	low := strings.ToLower(strings.TrimSpace(name))
	for _, n := range all {
		other := strings.ToLower(n)
		far := levenshtein.ComputeDistance(low, other)
		if low != "" && other != "" && (strings.Contains(other, low) || strings.Contains(low, other)) {
			far = min(far, 2)
		}
		if far == 0 || far <= max(2, len(low)/3) && far < len(other) {
			found = append(found, near{display.Quoted(n), far})
		}
	}
	// Equally near ones stay in the order of the file.
	slices.SortStableFunc(found, func(a, b near) int { return a.far - b.far })
	var out []string
	for _, n := range found[:min(len(found), maxNames)] {
		out = append(out, n.name)
	}
	return out
}
