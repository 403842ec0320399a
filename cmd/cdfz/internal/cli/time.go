package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TimeFlag is a flag with a time: a date, a time of RFC 3339, or @ and seconds since 1970.
type TimeFlag struct {
	T     *time.Time
	End   bool // a date means its last second, not its first
	given string
}

func (f *TimeFlag) String() string { return f.given }

// Type returns the name of the value in help.
func (f *TimeFlag) Type() string { return "TIME" }

// Set parses a value. Dates are those of UTC.
func (f *TimeFlag) Set(s string) error {
	t, err := parseTime(s, f.End)
	if err == nil {
		*f.T, f.given = t, s
	}
	return err
}

func parseTime(s string, end bool) (time.Time, error) {
	if text, ok := strings.CutPrefix(s, "@"); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return time.Unix(n, 0).UTC(), nil
		}
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		if end {
			t = t.AddDate(0, 0, 1).Add(-time.Second)
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("expected a date such as 2026-11-28, a time such as 2026-11-28T12:00:00Z, or @ and seconds since 1970")
}

// ShardFlag adds --shard, for verbs that do not take lists.
func (r *Run) ShardFlag(cmd *cobra.Command) {
	Flags(cmd, TreeFlags, func(f *pflag.FlagSet) {
		f.Var(&shardFlag{&r.Select.Shard}, "shard", "work on shard I of N of the files")
	})
}
