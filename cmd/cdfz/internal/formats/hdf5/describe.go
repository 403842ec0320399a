package hdf5

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Limits of HDF5.
const (
	// MaxRank is the highest rank of a dataset (H5S_MAX_RANK).
	MaxRank = 32
	// MaxChunk is the largest length of a chunk in bytes, decoded or stored.
	MaxChunk = math.MaxUint32
	// Unlimited is the maximum length of a dimension that can grow.
	Unlimited = math.MaxUint64
	// maxFilters is the longest filter pipeline (H5Z_MAX_NFILTERS).
	maxFilters = 32
	// maxName is the longest name of an attribute or a dataset, in bytes.
	maxName = 65534
	// maxAttrs is the largest number of attributes of an object: their creation order has
	// two bytes.
	maxAttrs = 65535
	// ownAttrs is the largest number of attributes that scales add to a dataset.
	ownAttrs = 4
)

// ErrLimit reports a description that HDF5 cannot hold. The text names the object and the
// limit.
var ErrLimit = errors.New("hdf5: beyond the limits of HDF5")

// Class is a class of types.
type Class uint8

// The classes.
const (
	Signed   Class = iota // integers in two's complement
	Unsigned              // integers
	Float                 // IEEE 754 binary32 or binary64
	Text                  // strings of fixed size, ended by NUL or full
)

// Type is the type of elements.
type Type struct {
	Class     Class
	Size      int // bytes
	BigEndian bool
}

// Attr is an attribute of an object.
type Attr struct {
	Name string
	Type Type
	// Len is the number of elements of a list, 0 or more. -1 makes a single value, and -2
	// an attribute without a value (a null dataspace).
	Len    int64
	Values []byte
}

// The values of Attr.Len that are not lengths.
const (
	Single = -1
	Null   = -2
)

// Filter is a filter of a pipeline.
type Filter struct {
	ID       uint16
	Name     string // for programs that lack the filter; HDF5 stores it from id 256 on
	Optional bool
	Params   []uint32
}

// Dataset describes a dataset.
type Dataset struct {
	Name  string
	Type  Type
	Shape []int64 // nil or empty: a single value
	// MaxShape holds the maximum lengths, Unlimited for dimensions that can grow. Nil means
	// those of Shape. Only datasets with chunks can grow.
	MaxShape []uint64
	// Chunk is the shape of chunks. Nil means that the data are contiguous.
	Chunk   []int64
	Filters []Filter // of chunks
	// Fill is the value of elements that are not written, one element. Nil leaves it
	// undefined.
	Fill  []byte
	Attrs []Attr
	// Empty datasets have no data in the file.
	Empty bool

	// Scale makes the dataset a dimension scale of that name.
	Scale *string
	// Scales are the datasets that are the scales of the dimensions, or nil.
	Scales []*Dataset
}

// File describes a file.
type File struct {
	Attrs    []Attr
	Datasets []*Dataset // in the order of creation
}

// Chunks returns the number of chunks of the dataset, 0 if it has none. It is negative if
// there are too many to count.
func (d *Dataset) Chunks() int64 {
	if d.Chunk == nil || d.Empty {
		return 0
	}
	n := int64(1)
	for i, c := range d.Chunk {
		k := ceilDiv(d.Shape[i], c)
		if k != 0 && n > math.MaxInt64/k {
			return -1
		}
		n *= k
	}
	return n
}

func ceilDiv(n, k int64) int64 { return n/k + min(1, n%k) }

// bytes returns the length of the values, negative if it overflows.
func (d *Dataset) bytes() int64 {
	n := int64(d.Type.Size)
	for _, k := range d.Shape {
		if k != 0 && n > math.MaxInt64/k {
			return -1
		}
		n *= k
	}
	return n
}

func limitf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrLimit, fmt.Sprintf(format, args...))
}

// check checks the file against the limits of HDF5.
func (f *File) check() error {
	if err := checkAttrs("the file", f.Attrs, 0); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, d := range f.Datasets {
		if err := checkName("dataset", d.Name); err != nil {
			return err
		}
		if strings.ContainsRune(d.Name, '/') || d.Name == "." {
			return limitf("no dataset can be called %q", d.Name)
		}
		if seen[d.Name] {
			return limitf("two datasets are called %q", d.Name)
		}
		seen[d.Name] = true
		if err := d.check(); err != nil {
			return err
		}
	}
	return nil
}

func checkName(what, name string) error {
	if name == "" || len(name) > maxName || strings.ContainsRune(name, 0) {
		return limitf("no %s can be called %.100q", what, name)
	}
	return nil
}

// checkAttrs checks the attributes of an object that has extra further ones.
func checkAttrs(where string, attrs []Attr, extra int) error {
	if len(attrs)+extra > maxAttrs {
		return limitf("%s has %d attributes, and the most are %d", where, len(attrs), maxAttrs-extra)
	}
	seen := map[string]bool{}
	for i := range attrs {
		a := &attrs[i]
		if err := checkName("attribute of "+where, a.Name); err != nil {
			return err
		}
		if seen[a.Name] {
			return limitf("two attributes of %s are called %q", where, a.Name)
		}
		seen[a.Name] = true
		n := a.Len
		switch n {
		case Single:
			n = 1
		case Null:
			n = 0
		}
		if a.Type.Size < 1 || n < 0 || n > math.MaxInt32 || n*int64(a.Type.Size) != int64(len(a.Values)) {
			return limitf("attribute %q of %s: expected %d values of %d bytes, found %d bytes", a.Name, where, n, a.Type.Size, len(a.Values))
		}
	}
	return nil
}

// check checks a dataset except for its name.
func (d *Dataset) check() error {
	where := fmt.Sprintf("dataset %q", d.Name)
	if err := checkAttrs(where, d.Attrs, ownAttrs); err != nil {
		return err
	}
	if len(d.Shape) > MaxRank {
		return limitf("%s has %d dimensions, and the most are %d", where, len(d.Shape), MaxRank)
	}
	for _, n := range d.Shape {
		if n < 0 {
			return limitf("%s has a dimension of length %d", where, n)
		}
	}
	if d.MaxShape != nil && (len(d.MaxShape) != len(d.Shape) || d.Chunk == nil) || d.Scales != nil && len(d.Scales) != len(d.Shape) {
		return limitf("the dimensions of %s do not agree", where)
	}
	if d.Fill != nil && len(d.Fill) != d.Type.Size || len(d.Filters) > maxFilters || d.Chunk == nil && len(d.Filters) > 0 {
		return limitf("%s has an unfit fill value or filters", where)
	}
	if d.bytes() < 0 {
		return limitf("%s is too large", where)
	}
	if d.Chunk == nil {
		return nil
	}
	if len(d.Chunk) != len(d.Shape) || len(d.Shape) == 0 {
		return limitf("chunks of shape %v in %s of shape %v", d.Chunk, where, d.Shape)
	}
	n := int64(d.Type.Size)
	for i, k := range d.Chunk {
		fixed := d.MaxShape == nil || d.MaxShape[i] != Unlimited
		if k < 1 || k > MaxChunk || fixed && k > max(1, d.Shape[i]) || n > MaxChunk/k {
			return limitf("chunks of shape %v in %s of shape %v", d.Chunk, where, d.Shape)
		}
		n *= k
	}
	if d.Chunks() < 0 {
		return limitf("%s has too many chunks", where)
	}
	return nil
}

// charset returns HDF5's code of the character set of a name: 0 ASCII, 1 UTF-8.
func charset(name string) byte {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf && utf8.ValidString(name) {
			return 1
		}
	}
	return 0
}
