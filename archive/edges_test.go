package archive

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// edges lists the packages of this module that each package may import. A new edge is a
// design decision: add it here with a reason.
var edges = map[string][]string{
	"internal/nofollow":            {},                                                          // for sources and targets
	"internal/access":              {},                                                          // who may read targets
	"internal/atomicfile":          {"internal/access", "internal/nofollow", "internal/future"}, // used by the command and by archive.WriteFile
	"internal/filetime":            {},                                                          // receipts, states of verify and servers write times of files
	"internal/future":              {},
	"internal/latin":               {}, // text in Zarr stores and what the command writes
	"internal/kept":                {}, // open archives of servers, and members of joined files
	"internal/pipeline":            {},
	"internal/recycled":            {},
	"cdf3":                         {"internal/recycled"},
	"internal/ioat":                {"internal/future"},
	"internal/chart":               {}, // pictures of cdfz bench and bench/cache
	"internal/jsonlines":           {"internal/access", "internal/atomicfile"},
	"internal/runlog":              {"internal/jsonlines"}, // the command writes it, fleet reads it
	"internal/faultsrv":            {},
	"internal/faultio":             {},
	"internal/nativetest":          {},
	"internal/nstest":              {},                   // mounts for tests
	"internal/xattr":               {},                   // attributes of whole trees
	"internal/storage":             {},                   // what a file is stored on; the marks of what mount and serve show
	"internal/storage/storagetest": {"internal/storage"}, // folders on a disk for tests
	"internal/retry":               {},                   // requests, locks, commands of fleet
	"internal/urls":                {"internal/ioat"},
	"internal/resolver":            {"internal/urls"},
	"remote":                       {"internal/ioat", "internal/resolver", "internal/retry", "internal/urls"},
	"internal/s3":                  {"internal/resolver", "internal/retry", "internal/urls"}, // registers what signs requests
	"remote/s3":                    {"internal/s3", "remote"},
	"blockidx":                     {"internal/ioat"},
	"filters": {"filters/internal/codecjson", "filters/internal/deflate", "filters/internal/transpose", "filters/internal/wire",
		"filters/internal/zstd", "lorenz", "internal/discovery"},
	"filters/internal/wire":        {"internal/recycled"}, // the errors of all filters
	"filters/internal/codecjson":   {"filters/internal/wire"},
	"filters/internal/deflate":     {"filters/internal/wire"},
	"filters/internal/filtertest":  {"filters"}, // for tests
	"filters/internal/kernels":     {},          // assembly for amd64
	"filters/internal/kernels/gen": {},          // a nested module, which writes it
	"filters/internal/transpose":   {"filters/internal/kernels"},
	"filters/internal/zstd":        {"filters/internal/wire"},
	"filters/all": {"filters", "filters/all/internal/bitshuffle", "filters/all/internal/blosc", "filters/all/internal/bzip2", "filters/all/internal/fletcher",
		"filters/all/internal/gzip", "filters/all/internal/lz4", "filters/all/internal/lzf", "filters/all/internal/lzma", "filters/all/internal/nbit",
		"filters/all/internal/numeric", "filters/all/internal/scaleoffset", "filters/all/internal/szip", "filters/internal/codecjson", "filters/internal/wire", "filters/internal/zstd"},
	"filters/all/internal/bitshuffle": {"filters/all/internal/lz4", "filters/internal/transpose", "filters/internal/wire", "filters/internal/zstd"},
	"filters/all/internal/blosc": {"filters/all/internal/lz4", "filters/internal/deflate", "filters/internal/transpose", "filters/internal/wire",
		"filters/internal/zstd"},
	"filters/all/internal/bzip2":       {"filters/internal/wire"},
	"filters/all/internal/fletcher":    {"filters/internal/kernels"},
	"filters/all/internal/gzip":        {"filters/internal/wire"},
	"filters/all/internal/lz4":         {"filters/internal/wire"},
	"filters/all/internal/lzf":         {"filters/internal/wire"},
	"filters/all/internal/lzma":        {"filters/internal/wire"},
	"filters/all/internal/nbit":        {"filters/internal/wire"},
	"filters/all/internal/numeric":     {"filters/internal/wire"},
	"filters/all/internal/scaleoffset": {"filters/internal/wire"},
	"filters/all/internal/szip":        {"filters/internal/transpose", "filters/internal/wire"},
	"lorenz/internal/kernels/gen":      {}, // a nested module, which writes the assembly
	"lorenz":                           {"lorenz/internal/adaptive", "lorenz/internal/contexts", "lorenz/internal/dictionary", "lorenz/internal/divisors", "lorenz/internal/entropy", "lorenz/internal/kernels", "lorenz/internal/masks", "lorenz/internal/matches", "lorenz/internal/parts", "lorenz/internal/predict", "lorenz/internal/references", "lorenz/internal/repeats", "lorenz/internal/text"},
	"lorenz/internal/adaptive":         {"lorenz/internal/arith", "lorenz/internal/entropy"},
	"lorenz/internal/arith":            {},
	"lorenz/internal/contexts":         {"lorenz/internal/entropy", "lorenz/internal/kernels"},
	"lorenz/internal/dictionary":       {"lorenz/internal/entropy"},
	"lorenz/internal/divisors":         {},
	"lorenz/internal/entropy":          {"lorenz/internal/kernels"},
	"lorenz/internal/kernels":          {},
	"lorenz/internal/masks":            {"lorenz/internal/entropy", "lorenz/internal/kernels"},
	"lorenz/internal/matches":          {"lorenz/internal/arith", "lorenz/internal/entropy", "lorenz/internal/kernels"},
	"lorenz/internal/parts":            {"lorenz/internal/entropy"},
	"lorenz/internal/predict":          {"lorenz/internal/entropy", "lorenz/internal/kernels", "lorenz/internal/masks"},
	"lorenz/internal/references":       {"lorenz/internal/entropy"},
	"lorenz/internal/repeats":          {"lorenz/internal/entropy", "lorenz/internal/kernels"},
	"lorenz/internal/text":             {"lorenz/internal/entropy", "lorenz/internal/kernels"},
	"internal/spec":                    {"filters"},                                                                             // the text of chains
	"internal/observer":                {},                                                                                      // --filter-stats
	"internal/discovery":               {},                                                                                      // what package filters does for the command alone
	"internal/ahead":                   {},                                                                                      // what package archive does for the command alone
	"internal/hdf5plugin":              {"filters", "filters/all", "internal/discovery", "internal/hostproto", "internal/urls"}, // lists of libraries serve the command alone
	"plugins":                          {"internal/hdf5plugin"},                                                                 // the face of it for programs
	"internal/hostproto":               {},                                                                                      // used by hdf5plugin and by the command cdfz-plugin-host
	"slab":                             {"cdf3", "internal/ioat"},
	"unlimited":                        {"cdf3", "internal/ioat"},
	"archive": {"archive/parity", "archive/volume", "cdf3", "blockidx", "cf", "filters", "internal/ahead", "internal/atomicfile", "internal/ioat", "internal/kept", "internal/latin", "internal/urls", "slab", "unlimited",
		"archive/internal/fault", "archive/internal/czip", "archive/internal/plan", "archive/internal/zarrview",
		"archive/internal/opening", "archive/internal/read", "archive/internal/image", "archive/internal/write", "archive/internal/layout", "internal/recycled", "internal/observer"},
	"archive/internal/fault":    {},
	"archive/internal/treesum":  {},
	"archive/internal/crc":      {}, // assembly for amd64
	"archive/internal/czip":     {"archive/internal/crc", "archive/internal/fault", "internal/ioat"},
	"archive/internal/plan":     {"archive/internal/czip", "archive/internal/fault", "blockidx", "cdf3", "filters", "unlimited"},
	"archive/internal/zarrview": {"archive/internal/plan", "cdf3", "filters"},
	"archive/internal/opening":  {"archive/internal/czip", "archive/internal/fault", "archive/internal/plan", "blockidx", "cdf3", "filters", "internal/future", "internal/ioat", "internal/recycled", "internal/observer"},
	"archive/internal/read": {"archive/internal/czip", "archive/internal/fault", "archive/internal/opening", "archive/internal/plan",
		"blockidx", "filters", "internal/ioat", "internal/recycled", "slab", "unlimited", "internal/observer"},
	"archive/internal/image": {"archive/internal/fault", "internal/atomicfile", "archive/internal/plan", "archive/internal/read", "archive/internal/treesum",
		"blockidx", "internal/future", "internal/ioat", "internal/pipeline", "internal/recycled", "unlimited"},
	"archive/internal/encode": {"archive/internal/czip", "archive/internal/plan", "archive/internal/read", "filters", "internal/ioat", "internal/pipeline", "internal/recycled", "unlimited", "internal/observer"}, // rewriting reads blocks
	"archive/internal/write": {"archive/internal/czip", "archive/internal/encode", "archive/internal/fault", "archive/internal/image", "archive/internal/plan",
		"archive/internal/read", "archive/internal/zarrview", "blockidx", "cdf3"},
	"archive/internal/layout": {"archive/internal/czip", "archive/internal/encode", "archive/internal/fault", "archive/internal/image", "archive/internal/plan",
		"archive/internal/write", "blockidx", "cdf3", "filters", "internal/ioat", "internal/recycled", "unlimited", "internal/observer"},
	"archive/internal/archivetest": {"archive/internal/czip", "archive/internal/fault", "cdf3"},          // for tests
	"archive/internal/packtest":    {"archive", "archive/internal/archivetest", "archive/internal/read"}, // for tests
	"archive/internal/evidence": {"archive/internal/czip", "archive/internal/fault", "archive/internal/plan", "archive/internal/opening", "archive/internal/image",
		"archive/parity", "blockidx", "internal/ioat"}, // what verify and repair know of a damaged archive
	"archive/verify": {"archive/parity", "archive/internal/czip", "archive/internal/evidence", "archive/internal/fault", "archive/internal/plan", "archive/internal/zarrview",
		"archive/internal/opening", "archive/internal/read", "archive/internal/image", "blockidx", "cdf3", "filters", "internal/ioat", "internal/recycled", "unlimited"},
	"archive/repair": {"archive/parity", "archive/verify", "archive/internal/czip", "archive/internal/evidence", "archive/internal/fault",
		"archive/internal/plan", "archive/internal/zarrview", "archive/internal/opening", "archive/internal/image", "blockidx", "cdf3", "filters", "internal/ioat", "unlimited", "internal/observer"},
	// Datasets of many files open their members with archive, and name times with cf.
	"archive/joined": {"archive", "cdf3", "cf", "internal/ioat", "internal/kept", "internal/urls", "slab", "internal/future"},

	"archive/volume":                {"archive/internal/fault", "internal/atomicfile", "internal/ioat", "internal/urls"}, // tar files of archives, and an index that waits in a temporary file
	"archive/parity":                {"archive/internal/czip", "archive/internal/fault", "archive/internal/plan", "internal/ioat", "internal/recycled"},
	"archive/ncapi":                 {"archive", "cdf3", "slab"},                                                 // a nested module
	"fleet/internal/fleet":          {"internal/atomicfile", "internal/retry", "internal/runlog", "internal/s3"}, // a nested module
	"archive/archivefs":             {"archive", "archive/volume", "archive/internal/read", "internal/kept", "internal/nofollow"},
	"archive/archivefs/joinedfiles": {"archive", "archive/archivefs", "archive/joined"},
	"cf":                            {"cdf3", "slab"},
	"js":                            {},                                       // the modules of JavaScript, for the page
	"cdl":                           {"cdf3", "cf", "internal/latin", "slab"}, // text from headers and values, wherever they come from
}

// TestEdges checks the imports of all packages against edges and roof. No verb imports a verb, or what lies below
// another verb. Commands, benchmarks and programs of testdata may import everything, apart from those that are listed.
func TestEdges(t *testing.T) {
	const module, command = "github.com/cdfz-format/cdfz/", "cmd/cdfz/internal/"
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel("..", name)
		require.NoError(t, err)
		pkg := path.Dir(filepath.ToSlash(rel))
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		if f.Name.Name == "main" {
			return nil
		}
		room, inRoof := strings.CutPrefix(pkg, command)
		verb, _, below := strings.Cut(room, "/")
		isVerb := inRoof && !below && !slices.Contains(beside, verb)
		allowed, ok := edges[pkg]
		if inRoof {
			allowed, ok = roof[room]
		}
		if !ok {
			top, _, _ := strings.Cut(pkg, "/")
			require.Contains(t, []string{"bench", "testdata"}, top, "package %s is not in the list of edges", pkg)
			return nil
		}
		for _, imp := range f.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			require.NoError(t, err)
			ours, ok := strings.CutPrefix(p, module)
			if !ok || inRoof && strings.HasPrefix(ours, pkg+"/") || isVerb && strings.HasPrefix(ours+"/", command+"cli/") {
				continue
			}
			if other, ok := strings.CutPrefix(ours, command); ok {
				ours = "./" + other
				other, _, _ = strings.Cut(other, "/")
				require.True(t, other == verb || slices.Contains(beside, other), "%s imports the verb %s", name, other)
			}
			require.True(t, slices.Contains(allowed, ours), "%s imports %s", name, ours)
		}
		return nil
	})
	require.NoError(t, err)
}

// TestLinked checks that a program that reads archives links neither an HTTP client nor the
// filters that only users choose.
func TestLinked(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	deps := strings.Fields(string(out))
	require.Contains(t, deps, "github.com/cdfz-format/cdfz/filters")
	for _, d := range deps {
		switch d {
		case "net", "net/http", "crypto/tls", "text/template":
			t.Errorf("archive depends on %s", d)
		}
		for _, path := range []string{"github.com/cdfz-format/cdfz/filters/all", "github.com/cdfz-format/cdfz/remote", "github.com/ulikunitz/", "github.com/pierrec/", "github.com/dsnet/", "github.com/minio/"} {
			require.False(t, strings.HasPrefix(d, path), "archive depends on %s", d)
		}
	}
}
