package filters

import "slices"

// RegistryURL is The HDF Group's description of the registered filters.
const RegistryURL = "https://github.com/HDFGroup/hdf5_plugins/blob/master/docs/RegisteredFilterPlugins.md"

// Name returns the name of a filter id: that of its method, else the one in HDF5 or The
// HDF Group's registry, else "".
func Name(id uint32) string {
	registryMu.RLock()
	defer registryMu.RUnlock()
	if r, ok := registry[id]; ok {
		return r.Name
	}
	return names[id]
}

// Known lists the ids that have a method or a name, in increasing order.
func Known() []uint32 {
	ids := Registered()
	for id := range names {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

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
// (hdf5_plugins, docs/RegisteredFilterPlugins.md, July 2026).
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
}
