package hdf5

// Dimension scales are a convention of attributes (HDF5's high-level library, "HDF5
// Dimension Scale Specification").

// ownNames are the names of these attributes.
const (
	attrClass    = "CLASS"
	attrName     = "NAME"
	attrScales   = "DIMENSION_LIST"
	attrUses     = "REFERENCE_LIST"
	classOfScale = "DIMENSION_SCALE\x00"
)

// use is a dimension of a dataset that has a scale.
type use struct {
	set int // number of the dataset
	dim int
}

// scales are the connections of datasets and their scales.
type scales struct {
	refs []int // for each dataset, the number of its first reference in the heap, or -1
	to   []int // for each reference, the number of the scale
	uses map[int][]use
	heap globalHeap
}

func newScales(sets []*Dataset) (*scales, error) {
	s := &scales{refs: make([]int, len(sets)), uses: map[int][]use{}}
	num := make(map[*Dataset]int, len(sets))
	for i, d := range sets {
		num[d] = i
	}
	for i, d := range sets {
		s.refs[i] = -1
		for k, to := range d.Scales {
			if to == nil {
				continue
			}
			n, ok := num[to]
			if !ok || to.Scale == nil || d.Scale != nil {
				return nil, limitf("dimension %d of dataset %q cannot have the scale %q", k, d.Name, to.Name)
			}
			r := s.heap.add()
			if s.refs[i] < 0 {
				s.refs[i] = r
			}
			s.to = append(s.to, n)
			s.uses[n] = append(s.uses[n], use{i, k})
		}
	}
	return s, nil
}

// attrs returns the attributes of dataset i that the convention adds. headers are the
// addresses of the datasets, heap that of the references.
func (s *scales) attrs(i int, d *Dataset, headers []uint64, heap uint64) []attr {
	var out []attr
	add := func(name string, datatype []byte, n int64, values []byte) {
		out = append(out, attr{name, encodeAttr(name, datatype, n, values)})
	}
	text := func(name, value string) {
		add(name, appendType(nil, Type{Class: Text, Size: len(value)}), Single, []byte(value))
	}
	if d.Scale != nil {
		text(attrClass, classOfScale)
		text(attrName, *d.Scale+"\x00")
	}
	if r := s.refs[i]; r >= 0 {
		var p []byte
		for _, to := range d.Scales {
			if to == nil {
				p = append(p, make([]byte, 16)...)
				continue
			}
			p = s.heap.appendID(le.AppendUint32(p, 1), r, heap)
			r++
		}
		add(attrScales, typeReferences, int64(len(d.Scales)), p)
	}
	if uses := s.uses[i]; uses != nil {
		var p []byte
		for _, u := range uses {
			p = le.AppendUint64(p, headers[u.set])
			p = le.AppendUint64(p, uint64(u.dim)) // and 4 bytes that the compound leaves out
		}
		add(attrUses, typeUse, int64(len(uses)), p)
	}
	return out
}
