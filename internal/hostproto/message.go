// Package hostproto is the protocol between cdfz and cdfz-plugin-host, the process that
// loads HDF5 plugins. cdfz sends requests over a socket, and the host answers each with a
// reply, one after the other. Blocks are not in messages: they are in a piece of memory
// that both processes share.
//
// The first message is a reply of the host whose Len is [Version]. A message is a u32
// length and that many bytes. All numbers are little-endian. Both programs come from one
// build, so any change needs only a new Version.
package hostproto

// Version is the version of the messages.
const Version = 3

// MaxMessage is the length of the longest message in bytes.
const MaxMessage = 1 << 20

// Op is the kind of a request.
type Op uint8

// The kinds of requests, with the fields that they use.
const (
	// Load loads the library with the path Text. The reply has Library. Libraries are
	// numbered from 0 in the order in which they were loaded.
	Load Op = 1 + iota
	// Filter calls the filter of library Lib with Params on the first Len bytes of the
	// shared memory, and Decode for the direction. The reply's Len bytes are in the same
	// place, at most MaxLen. If Check is set, the encoded bytes are decoded and compared.
	Filter
	// SetLocal calls can_apply and set_local of library Lib with Params and the
	// description of a block. The reply has Params.
	SetLocal
	// ToHDF5 turns the codec JSON Text into parameters with codec Codec of library Lib.
	ToHDF5
	// FromHDF5 turns Params into codec JSON, in Text.
	FromHDF5
	lastOp = FromHDF5
)

// Request is a message to the host.
type Request struct {
	Op          Op
	Decode      bool
	Check       bool
	Lib, Codec  uint32
	Len, MaxLen uint64
	Params      []uint32
	Text        string
	Block       Block
}

// Block describes a block to set_local.
type Block struct {
	Kind         Kind
	Size         uint32
	LittleEndian bool
	Shape        []uint32
}

// Kind is the kind of elements.
type Kind uint8

// The kinds of elements.
const (
	Bytes Kind = iota // unknown
	Int
	Uint
	Float
	Text
	lastKind = Text
)

// Status is the result of a request.
type Status uint8

// The results.
const (
	OK           Status = iota
	Failed              // the function of the library reported an error
	TooLong             // the result has Len bytes, more than MaxLen
	Differs             // the encoded block decodes to other bytes
	NoMemory            // for a copy of the block
	Invalid             // not a valid request
	Inapplicable        // can_apply returned 0
	lastStatus   = Inapplicable
)

// Reply is a message of the host.
type Reply struct {
	Status Status
	// Worn asks for a new process, because this one has used much memory.
	Worn    bool
	Len     uint64
	Params  []uint32
	Text    string // JSON, or what failed
	Library Library
}

// Library describes a library that was loaded.
type Library struct {
	// Ignored is the reason why the library is not a plugin. It is empty for a plugin.
	Ignored string
	Filter  *FilterClass // nil if there is none
	Codecs  []CodecClass
	// Note states which part of the library is unusable, and why.
	Note string
}

// FilterClass is HDF5's H5Z_class2_t.
type FilterClass struct {
	ID                 uint32
	Name               string
	Encodes, Decodes   bool
	CanApply, SetLocal bool // are there
}

// CodecClass is netcdf-c's NCZ_codec_t, whose functions of conversion are there.
type CodecClass struct {
	ID      string
	Filter  uint32 // hdf5id
	Modify  bool   // NCZ_modify_parameters is there
	Default bool   // from NCZ_codec_info_defaults
}
