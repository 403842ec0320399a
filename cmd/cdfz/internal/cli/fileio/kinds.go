package fileio

import (
	"fmt"
	"slices"
	"strings"
)

// Kinds counts skipped files by kind.
type Kinds map[string]int64

// The kinds of skipped files in the order of summaries, with their plurals. archive --whole keeps those before ownKinds.
var kinds = [][2]string{
	{"netCDF-4", "netCDF-4"}, {"compressed", "compressed"}, {"empty", "empty"}, {"link", "links"}, {"other", "other"},
	{"special file", "special files"}, {"archive", "archives"}, {"excluded", "excluded"}, {"temporary", "temporary"}, {"of other shards", "of other shards"},
}

const ownKinds = 5

// kindOf returns the kind of a file that was skipped for a reason.
func kindOf(reason string) string {
	switch {
	case reason == string(kindHDF5):
		return "netCDF-4"
	case strings.HasPrefix(reason, "compressed"):
		return "compressed"
	case reason == string(kindEmpty), reason == "of other shards":
		return reason
	case reason == symbolicLink:
		return "link"
	case slices.Contains(special, reason):
		return "special file"
	case reason == alreadyArchive:
		return "archive"
	case strings.HasPrefix(reason, "excluded by "):
		return "excluded"
	case strings.HasPrefix(reason, "temporary"), strings.HasPrefix(reason, "source that"):
		return "temporary"
	}
	return "other"
}

// Kind returns the kind of a file by its first bytes, as catalogues name it.
func (in *Input) Kind() (string, error) {
	k, err := sniff(in.R)
	switch {
	case err != nil:
		return "", err
	case k == kindClassic:
		return "classic netCDF", nil
	case k == kindArchive:
		return "archive", nil
	}
	return kindOf(string(k)), nil
}

// add counts a file that was skipped for a reason.
func (k *Kinds) add(reason string) {
	if *k == nil {
		*k = Kinds{}
	}
	(*k)[kindOf(reason)]++
}

// count counts a skipped file.
func (f *List) count(reason string) {
	f.skipped++
	f.kinds.add(reason)
}

// Kinds returns how many files were skipped, by kind.
func (f *List) Kinds() Kinds { return f.kinds }

// Text lists the numbers of files, "" for none. others reports whether archive --whole would keep some of them.
func (k Kinds) Text() (text string, others bool) {
	var parts []string
	for i, name := range kinds {
		n := k[name[0]]
		if n == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, name[min(n-1, 1)]))
		others = others || i < ownKinds
	}
	return strings.Join(parts, ", "), others
}
