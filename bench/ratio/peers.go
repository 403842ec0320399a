package main

// peer is a program, with arguments for run.Convert, or a codec.
type peer struct {
	name    string
	args    []string // nil for a codec of codecs.py, for values only
	version []string
	takes   kinds
}

// kinds are the units that a peer accepts.
type kinds int

const (
	files  kinds = 1 << iota
	values       // of any type, as bytes
	hdf5         // files, and the values as stored in them
)

var allPeers = []peer{
	nccopy("nccopy-d1", "-d1", "-s"),
	nccopy("nccopy-d5", "-d5", "-s"),
	nccopy("nccopy-d9", "-d9", "-s"),
	nccopy("nccopy-bzip2", "-F", "*,307,9"),
	nccopy("nccopy-shuffle-bzip2", "-F", "*,2|307,9"),
	nccopy("nccopy-lz4", "-F", "*,32004,0"),
	nccopy("nccopy-blosc-zstd9", "-F", "*,32001,0,0,0,0,9,1,5"),
	program("lz4-9", "lz4", "-9", "-c", "IN"),
	program("zstd-3", "zstd", "-q", "-3", "-c", "IN"),
	program("zstd-19", "zstd", "-q", "-19", "-c", "IN"),
	program("xz-6", "xz", "-6", "-T1", "-c", "IN"),
	program("bzip2-9", "bzip2", "-9", "-c", "IN"),
	program("brotli-11", "brotli", "-q", "11", "-w", "24", "-c", "IN"),
	{"zarr-blosc-zstd5", []string{"PYTHON", "ZARR", "compress", "IN", "OUT"},
		[]string{"PYTHON", "-c", "import zarr, numcodecs; print('zarr', zarr.__version__, 'numcodecs', numcodecs.__version__)"}, files},
	codec("shuffle-deflate1"),
	codec("shuffle-deflate5"),
	codec("shuffle-deflate9"),
	codec("shuffle-zstd19"),
	codec("blosc-shuffle-zstd5"),
	codec("blosc-shuffle-zstd9"),
	codec("blosc-bitshuffle-zstd5"),
	codec("blosc-bitshuffle-zstd9"),
	codec("fpzip"),
	codec("zfp"),
}

func nccopy(name string, flags ...string) peer {
	args := append(append([]string{"nccopy"}, flags...), "IN", "OUT")
	return peer{name, args, []string{"nccopy"}, files | hdf5}
}

func program(name string, args ...string) peer {
	return peer{name, args, []string{args[0], "--version"}, files | values}
}

func codec(name string) peer { return peer{name: name, takes: values} }

func peerNames() []string {
	var names []string
	for _, p := range allPeers {
		names = append(names, p.name)
	}
	return names
}
