// Package filetime writes and compares times of files. These are any int64 of seconds on some file
// systems (tmpfs, XFS, btrfs), where RFC 3339 ends with the year 9999 and [time.Time] does not order the
// last 2000 years.
package filetime

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Time is a time in JSON, without loss: as RFC 3339 if that can write it, or else as the seconds since 1970,
// "@300000000000.5", which touch -d reads, too.
type Time struct{ time.Time }

// MarshalJSON implements [json.Marshaler].
func (t Time) MarshalJSON() ([]byte, error) {
	if !RFC3339(t.Time) {
		return json.Marshal(seconds(t.Time))
	}
	return t.UTC().MarshalJSON()
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Time) UnmarshalJSON(b []byte) error {
	s, ok := strings.CutPrefix(string(b), `"@`)
	if !ok {
		return t.Time.UnmarshalJSON(b)
	}
	s = strings.TrimSuffix(s, `"`)
	whole, fraction, _ := strings.Cut(s, ".")
	sec, err := strconv.ParseInt(whole, 10, 64)
	n, fractionErr := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	if sec < 0 {
		n = -n
	}
	t.Time = time.Unix(sec, n).UTC()
	if err != nil || fractionErr != nil || RFC3339(t.Time) || seconds(t.Time) != "@"+s {
		return fmt.Errorf("expected a time of RFC 3339, or one that this cannot write as @SECONDS, found %.40s", b)
	}
	return nil
}

// seconds returns the seconds since 1970 of a time.
func seconds(t time.Time) string {
	sec, n := t.Unix(), t.Nanosecond()
	if sec < 0 && n > 0 { // the fraction counts towards the past
		sec, n = sec+1, 1e9-n
	}
	s := fmt.Sprintf("@%d", sec)
	if n > 0 {
		s += strings.TrimRight(fmt.Sprintf(".%09d", n), "0")
	}
	return s
}

// RFC3339 reports whether RFC 3339 can write a time, whose years are 0 to 9999.
func RFC3339(t time.Time) bool {
	const first, end = -62167219200, 253402300800 // 0000-01-01, 10000-01-01
	return first <= t.Unix() && t.Unix() < end
}

// Text returns a time for people, in whole seconds.
func Text(t time.Time) string {
	if !RFC3339(t) {
		return seconds(t.Add(-time.Duration(t.Nanosecond())))
	}
	return t.UTC().Format(time.RFC3339)
}

// After reports whether a time is after another one.
func After(t, other time.Time) bool {
	return cmp.Or(cmp.Compare(t.Unix(), other.Unix()), cmp.Compare(t.Nanosecond(), other.Nanosecond())) > 0
}
