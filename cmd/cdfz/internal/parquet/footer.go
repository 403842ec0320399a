package parquet

// chunk is a column of a row group.
type chunk struct {
	typ, codec       int64 // as read
	values, nulls    int64 // entries of levels; those without a value
	dictionary, data int64 // where its pages begin. dictionary is 0 if there is none
	size, stored     int64 // bytes of its pages before and after compression, with their headers
	// least and greatest are the statistics as they are stored, nil without.
	least, greatest []byte
}

// start returns where the pages begin.
func (c *chunk) start() int64 {
	if c.dictionary > 0 {
		return min(c.dictionary, c.data)
	}
	return c.data
}

// footer returns the FileMetaData.
func (p *Writer) footer() []byte {
	var t thrift
	t.push()
	t.i32(1, 2) // version
	var schema []element
	for i := range p.columns {
		schema = p.columns[i].schema(schema)
	}
	t.list(2, thriftStruct, 1+len(schema))
	(&element{name: "schema", children: int64(len(p.columns)), repetition: -1, typ: -1}).write(&t)
	for i := range schema {
		schema[i].write(&t)
	}
	rows := int64(0)
	for i := range p.groups {
		rows += p.groups[i].rows
	}
	t.i64(3, rows)
	t.list(4, thriftStruct, len(p.groups))
	for i := range p.groups {
		p.group(&t, &p.groups[i])
	}
	if p.Key != "" {
		t.list(5, thriftStruct, 1)
		t.push() // KeyValue
		t.text(1, p.Key)
		t.text(2, p.Meta)
		t.end()
	}
	t.text(6, p.Creator)
	t.list(7, thriftStruct, len(p.columns))
	for range p.columns {
		t.push()   // ColumnOrder
		t.empty(1) // TypeDefinedOrder: without it, readers ignore the statistics
		t.end()
	}
	t.end()
	return t.b
}

// group writes a RowGroup.
func (p *Writer) group(t *thrift, g *group) {
	t.push()
	t.list(1, thriftStruct, len(g.chunks))
	size, stored := int64(0), int64(0)
	for i := range g.chunks {
		c := &g.chunks[i]
		c.write(t, p.columns[i].Column)
		size += c.size
		stored += c.stored
	}
	t.i64(2, size)
	t.i64(3, g.rows)
	if len(p.Sorted) > 0 {
		t.list(4, thriftStruct, len(p.Sorted))
		for _, column := range p.Sorted {
			t.push() // SortingColumn
			t.i32(1, int64(column))
			t.bool(2, false) // descending
			t.bool(3, false) // nulls first
			t.end()
		}
	}
	t.i64(5, g.chunks[0].start())
	t.i64(6, stored)
	t.end()
}

// element is a SchemaElement. Numbers are -1 where it has none.
type element struct {
	name                      string
	typ, repetition, children int64
	kind                      Kind // of a leaf
	list                      bool
}

// schema appends the elements of a column.
func (c *Column) schema(s []element) []element {
	leaf := element{name: c.Name, typ: c.Kind.physical(), kind: c.Kind, children: -1, repetition: repetitionRequired}
	switch c.Repetition {
	case Optional:
		leaf.repetition = repetitionOptional
	case List:
		leaf.name = "element"
		return append(s, element{name: c.Name, typ: -1, repetition: repetitionRequired, children: 1, list: true},
			element{name: "list", typ: -1, repetition: repetitionRepeated, children: 1}, leaf)
	}
	return append(s, leaf)
}

// write writes the element.
func (e *element) write(t *thrift) {
	t.push()
	if e.typ >= 0 {
		t.i32(1, e.typ)
	}
	if e.repetition >= 0 {
		t.i32(3, e.repetition)
	}
	t.text(4, e.name)
	if e.children >= 0 {
		t.i32(5, e.children)
	}
	switch {
	case e.list:
		e.meaning(t, convertedList, logicalList)
	case e.typ < 0:
	case e.kind == Text:
		e.meaning(t, convertedUTF8, logicalString)
	case e.kind == JSON:
		e.meaning(t, convertedJSON, logicalJSON)
	case e.kind == Micros:
		t.i32(6, convertedMicros)
		t.begin(10) // LogicalType
		t.begin(logicalTimestamp)
		t.bool(1, true) // UTC
		t.begin(2)      // TimeUnit
		t.empty(2)      // MicroSeconds
		t.end()
		t.end()
		t.end()
	}
	t.end()
}

// meaning writes the ConvertedType, and the LogicalType of so many.
func (e *element) meaning(t *thrift, converted int64, logical int) {
	t.i32(6, converted)
	t.begin(10)
	t.empty(logical)
	t.end()
}

// write writes the ColumnChunk of a column.
func (c *chunk) write(t *thrift, col *Column) {
	t.push()
	t.i64(2, 0) // file_offset, which nothing reads any more
	t.begin(3)  // ColumnMetaData
	t.i32(1, col.Kind.physical())
	encodings := []int64{encodingPlain, encodingRLE}
	if c.dictionary > 0 {
		encodings = append(encodings, encodingRLEDictionary)
	}
	t.list(2, thriftI32, len(encodings))
	for _, e := range encodings {
		t.zigzag(e)
	}
	path := col.path()
	t.list(3, thriftBinary, len(path))
	for _, name := range path {
		t.bytes(name)
	}
	t.i32(4, codecZstd)
	t.i64(5, c.values)
	t.i64(6, c.size)
	t.i64(7, c.stored)
	t.i64(9, c.data)
	if c.dictionary > 0 {
		t.i64(11, c.dictionary)
	}
	t.begin(12)       // Statistics
	t.i64(3, c.nulls) // without it, fastparquet takes offsets for floats
	if c.least != nil {
		t.text(5, string(c.greatest))
		t.text(6, string(c.least))
	}
	t.end()
	t.end()
	t.end()
}

// footer is the FileMetaData that is read.
type footer struct {
	schema []element
	rows   int64
	groups []group
	meta   map[string]string
}

// readFooter reads the metadata, which must be all of b.
func readFooter(b []byte) (*footer, error) {
	f := &footer{meta: map[string]string{}}
	r := &thriftReader{b: b}
	err := r.structure(func(id int64, kind byte) error {
		switch id {
		case 2:
			return r.structures(kind, maxList, func() func(int64, byte) error {
				f.schema = append(f.schema, element{typ: -1, repetition: -1, children: -1})
				return f.schema[len(f.schema)-1].read(r)
			})
		case 3:
			return r.int(kind, &f.rows)
		case 4:
			return r.structures(kind, maxGroups, func() func(int64, byte) error {
				f.groups = append(f.groups, group{})
				return f.groups[len(f.groups)-1].read(r)
			})
		case 5:
			return r.structures(kind, maxList, func() func(int64, byte) error {
				var key string
				return func(id int64, kind byte) error {
					switch id {
					case 1:
						return r.text(kind, &key)
					case 2:
						var v string
						err := r.text(kind, &v)
						f.meta[key] = v
						return err
					}
					return r.skip(kind)
				}
			})
		}
		return r.skip(kind)
	})
	if err == nil && len(r.b) > 0 {
		err = damage("expected the end of the metadata, found %d bytes", len(r.b))
	}
	return f, err
}

func (e *element) read(r *thriftReader) func(int64, byte) error {
	return func(id int64, kind byte) error {
		switch id {
		case 1:
			return r.int(kind, &e.typ)
		case 3:
			return r.int(kind, &e.repetition)
		case 4:
			return r.text(kind, &e.name)
		case 5:
			return r.int(kind, &e.children)
		}
		return r.skip(kind)
	}
}

func (g *group) read(r *thriftReader) func(int64, byte) error {
	return func(id int64, kind byte) error {
		switch id {
		case 1:
			return r.structures(kind, maxList, func() func(int64, byte) error {
				g.chunks = append(g.chunks, chunk{})
				c := &g.chunks[len(g.chunks)-1]
				return func(id int64, kind byte) error {
					if id == 3 && kind == thriftStruct {
						return r.structure(c.read(r))
					}
					return r.skip(kind)
				}
			})
		case 3:
			return r.int(kind, &g.rows)
		}
		return r.skip(kind)
	}
}

func (c *chunk) read(r *thriftReader) func(int64, byte) error {
	return func(id int64, kind byte) error {
		switch id {
		case 1:
			return r.int(kind, &c.typ)
		case 4:
			return r.int(kind, &c.codec)
		case 5:
			return r.int(kind, &c.values)
		case 7:
			return r.int(kind, &c.stored)
		case 9:
			return r.int(kind, &c.data)
		case 11:
			return r.int(kind, &c.dictionary)
		}
		return r.skip(kind)
	}
}
