package filters

// Limits of a chain.
const (
	// MaxID is the largest filter id: HDF5 stores it in two bytes.
	MaxID = 65535
	// MaxFilters is the longest chain, because an exclusion mask has 32 bits
	// (H5Z_MAX_NFILTERS in HDF5's H5Zpublic.h).
	MaxFilters = 32
)

// Ids of the filters of this module. They are part of the format and never change. 1 to 6 are
// H5Z_FILTER_* of HDF5's H5Zpublic.h. The others are in The HDF Group's registry
// (hdf5_plugins, docs/RegisteredFilterPlugins.md). Those from 52723 on, which is 0xCDF3,
// are in the range for private use.
const (
	Deflate     uint32 = 1
	Shuffle     uint32 = 2
	Fletcher32  uint32 = 3
	Szip        uint32 = 4
	NBit        uint32 = 5
	ScaleOffset uint32 = 6
	Bzip2       uint32 = 307
	LZF         uint32 = 32000
	Blosc       uint32 = 32001
	LZ4         uint32 = 32004
	Bitshuffle  uint32 = 32008
	Zstd        uint32 = 32015
	Lorenz      uint32 = 52723

	Delta            uint32 = 52724
	FixedScaleOffset uint32 = 52725
	Quantize         uint32 = 52726
	BitRound         uint32 = 52727
	PackBits         uint32 = 52728
	CRC32            uint32 = 52729
	Adler32          uint32 = 52730
	Gzip             uint32 = 52731
	LZMA             uint32 = 52732
	NumcodecsLZ4     uint32 = 52734
)

// inAll lists the filters of package all.
var inAll = []uint32{
	Fletcher32, Szip, NBit, ScaleOffset, Bzip2, LZF, Blosc, LZ4, Bitshuffle,
	Delta, FixedScaleOffset, Quantize, BitRound, PackBits, CRC32, Adler32, Gzip, LZMA, NumcodecsLZ4,
}

// allPath is the path of package all.
const allPath = "github.com/cdfz-format/cdfz/filters/all"

// Class returns the range of The HDF Group's registry that contains an id: "predefined"
// (0 to 255), "testing" (256 to 511), "registered" (512 to 32767), "private" (32768 to
// 65535) or, above [MaxID], "invalid".
func Class(id uint32) string {
	switch {
	case id < 256:
		return "predefined"
	case id < 512:
		return "testing"
	case id < 32768:
		return "registered"
	case id <= MaxID:
		return "private"
	}
	return "invalid"
}

// names lists the filters of HDF5's H5Zpublic.h, then those of the registry
// (hdf5_plugins, docs/RegisteredFilterPlugins.md, July 2026), then those of package all with
// private ids.
var names = map[uint32]string{
	1: "deflate",
	2: "shuffle",
	3: "fletcher32",
	4: "szip",
	5: "nbit",
	6: "scaleoffset",

	257:   "hzip",
	258:   "fpzip",
	305:   "LZO",
	307:   "BZIP2",
	32000: "LZF",
	32001: "BLOSC",
	32002: "MAFISC",
	32003: "Snappy",
	32004: "LZ4",
	32005: "APAX",
	32006: "CBF",
	32007: "JPEG-XR",
	32008: "bitshuffle",
	32009: "SPDP",
	32010: "LPC-Rice",
	32011: "CCSDS-123",
	32012: "JPEG-LS",
	32013: "zfp",
	32014: "fpzip",
	32015: "Zstandard",
	32016: "B3D",
	32017: "SZ",
	32018: "FCIDECOMP",
	32019: "JPEG",
	32020: "VBZ",
	32021: "FAPEC",
	32022: "BitGroom",
	32023: "Granular BitRound (GBR)",
	32024: "SZ3",
	32025: "Delta-Rice",
	32026: "BLOSC2",
	32027: "FLAC",
	32028: "H5Z-SPERR",
	32029: "TERSE/PROLIX",
	32030: "FFMPEG",

	Delta:            "delta",
	FixedScaleOffset: "fixedscaleoffset",
	Quantize:         "quantize",
	BitRound:         "bitround",
	PackBits:         "packbits",
	CRC32:            "crc32",
	Adler32:          "adler32",
	Gzip:             "gzip",
	LZMA:             "lzma",
	NumcodecsLZ4:     "numcodecs-lz4",
}
