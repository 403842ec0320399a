package archive

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// beside are the folders in cmd/cdfz/internal that are no verbs.
var beside = []string{"cataloguefile", "choices", "cli", "formats", "fusefs", "page", "parquet"}

// roof lists the packages that each package in cmd/cdfz/internal may import, where ./ stands for that folder. A
// package may also import what lies below it, and a verb cli and what lies below cli. These are left out.
var roof = map[string][]string{
	// What several verbs use.
	"cataloguefile": {"archive", "cdf3", "cf", "internal/atomicfile", "internal/jsonlines", "internal/latin", "./parquet", "slab"}, // catalogue and find
	"choices":       {"archive", "cdf3", "filters", "lorenz"},                                                                      // info and the page of serve
	"cli":           {"archive", "archive/parity", "cdf3", "internal/hdf5plugin", "filters", "internal/atomicfile", "internal/kept", "internal/observer", "internal/runlog", "internal/storage", "remote", "internal/s3", "internal/discovery"},
	"cli/chains": {"archive", "cdf3", "./cli", "./cli/display", "./cli/terminal", "filters",
		"internal/spec", "internal/discovery"},
	"cli/display": {},
	"cli/fileio": {"archive", "archive/joined", "archive/volume", "internal/filetime", "internal/kept", "cdf3", "./cli/display", "./cli/patterns",
		"./cli/protect", "./cli/receiptfile", "./cli/shards", "./cli/stop",
		"./cli/terminal", "./cli/treefile", "internal/access", "internal/atomicfile", "internal/future", "internal/ioat", "internal/nofollow",
		"internal/storage", "internal/urls", "internal/xattr", "remote", "internal/s3"},
	"cli/patterns": {},
	"cli/protect": {"archive", "archive/repair", "archive/volume", "./cli/display", "./cli/receiptfile",
		"./cli/terminal", "internal/atomicfile", "internal/filetime", "internal/ioat", "internal/nofollow",
		"internal/storage", "remote"}, // fileio asks it before it replaces a file
	"cli/receiptfile": {"archive", "./cli/terminal", "internal/access", "internal/atomicfile", "internal/filetime", "internal/urls"},
	"cli/report": {"archive", "archive/parity", "archive/repair", "archive/verify", "./cli/display", "./cli/fileio",
		"./cli/terminal", "filters"},
	"cli/shards": {},
	"cli/statefile": {"./cli/fileio", "./cli/terminal", "internal/access",
		"internal/atomicfile", "internal/filetime", "internal/jsonlines", "remote"},
	"cli/stats":    {"filters"},
	"cli/stop":     {},
	"cli/terminal": {"archive", "cdf3", "./cli/display", "./cli/stop", "internal/jsonlines", "internal/nofollow", "internal/urls", "remote"},
	"cli/treefile": {"archive", "internal/filetime"}, // archive writes it; restore, verify and others read it
	"cli/unpack":   {"./cli", "./cli/fileio", "./cli/receiptfile", "internal/atomicfile", "remote"},
	"cli/volumes": {"archive", "archive/parity", "archive/verify", "archive/volume", "./cli", "./cli/display", "./cli/fileio", "./cli/terminal",
		"internal/ioat", "internal/s3", "internal/urls", "remote"}, // pack, archive --pack and the parity of volumes
	"formats":         {"cdf3", "cf", "internal/latin", "slab"}, // get and the page of serve; what lies below is export's
	"formats/hdf5":    {},                                       // the format, for any data
	"formats/netcdf4": {"archive", "cdf3", "./formats/hdf5", "filters", "internal/ioat", "internal/pipeline"},
	"formats/refs":    {"archive", "archive/joined", "filters", "internal/atomicfile", "./parquet"},
	"formats/zarr":    {"archive", "cdf3", "filters", "filters/all", "internal/atomicfile"},                                                                                             // writes blosc
	"fusefs":          {"archive", "archive/archivefs", "archive/archivefs/joinedfiles", "archive/volume", "internal/ahead", "internal/nofollow", "internal/retry", "internal/storage"}, // mount and run
	"parquet":         {"internal/ioat"},                                                                                                                                                // cataloguefile and references

	"page": {"archive", "cdf3", "cf", "./choices", "./formats", "internal/latin", "filters", "js", "slab"}, // of serve, and the viewer of export

	// What one verb uses.
	"gen/cdlgen":  {"cdf3", "filters", "internal/atomicfile", "internal/spec"},
	"run/mountns": {"./fusefs"},
	"serve/dap":   {"cdf3", "internal/latin", "slab"}, // the protocol, for any source
	"serve/server": {"cdf3", "archive", "./serve/dap", "./page", "internal/filetime", "internal/kept", "archive/archivefs",
		"archive/archivefs/joinedfiles", "internal/storage"},

	// Verbs.
	"archive": {"archive", "archive/verify", "archive/volume", "cdf3", "filters", "internal/access", "internal/atomicfile", "internal/filetime", "internal/nofollow",
		"internal/runlog", "internal/storage", "internal/urls", "internal/xattr", "remote", "internal/s3", "unlimited"},
	"bench":     {"archive", "cdf3", "filters", "internal/atomicfile", "internal/chart", "internal/spec"},
	"catalogue": {"archive", "./cataloguefile", "remote"},
	"codec":     {"cdf3", "filters", "internal/spec", "internal/discovery"},
	"copy":      {"archive", "internal/atomicfile", "internal/s3"},
	"dump":      {"archive", "cdf3", "cdl", "filters", "internal/atomicfile"},
	"export":    {"archive", "archive/joined", "./page", "./formats/netcdf4", "./formats/refs", "./formats/zarr", "filters", "internal/atomicfile", "internal/spec", "remote"},
	"filters":   {"filters"},
	"find":      {"./cataloguefile"},
	"gen":       {"archive", "cdf3", "cdl", "internal/atomicfile"},
	"get":       {"archive", "./formats", "internal/atomicfile", "internal/ioat", "internal/s3"},
	"info":      {"archive", "cdf3", "./choices", "filters", "remote"},
	"join":      {"archive/joined", "remote"},
	"doctor":    {"archive", "internal/hdf5plugin", "internal/kept", "lorenz"},
	"mount":     {"./fusefs"},
	"pack":      {"archive", "archive/verify", "archive/volume", "internal/atomicfile", "internal/nofollow", "internal/pipeline", "internal/s3"},
	"parity":    {"archive", "archive/parity", "archive/verify", "archive/volume", "internal/atomicfile", "internal/ioat", "remote"},
	"plugins":   {"internal/hdf5plugin", "filters"},
	"receipts":  {"archive", "archive/verify", "internal/s3", "internal/storage", "remote"},
	"repair":    {"archive", "archive/parity", "archive/volume", "archive/repair", "archive/verify", "internal/ioat", "internal/runlog", "internal/urls", "remote", "internal/s3"},
	"restore":   {"archive", "archive/parity", "archive/repair", "internal/access", "internal/atomicfile", "internal/runlog", "internal/s3", "internal/xattr"},
	"run":       {"./fusefs"},
	"serve":     {},
	"verify":    {"archive/volume", "archive", "archive/joined", "archive/repair", "archive/verify", "internal/ioat", "internal/nofollow", "internal/runlog", "internal/urls", "remote", "internal/s3"},
}

// TestLinkedCommand checks that the command does not link large libraries which only tests need, or which a few lines
// replaced: parquet-go came with protobuf and brotli, gonum's plots with fonts and PDF.
func TestLinkedCommand(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "../cmd/cdfz").Output()
	require.NoError(t, err)
	deps := strings.Fields(string(out))
	require.Contains(t, deps, "github.com/cdfz-format/cdfz/cmd/cdfz/internal/parquet")
	for _, d := range deps {
		for _, not := range []string{"github.com/parquet-go/", "google.golang.org/protobuf", "github.com/andybalholm/brotli", "gonum.org/",
			"github.com/chromedp/", "github.com/stretchr/", "github.com/rogpeppe/", "github.com/johannesboyne/"} {
			require.False(t, strings.HasPrefix(d, not), "cmd/cdfz depends on %s", d)
		}
	}
}
