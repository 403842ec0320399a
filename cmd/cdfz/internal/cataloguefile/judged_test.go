package cataloguefile

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

// judgedRow is Row for parquet-go, which is the judge of package parquet here.
type judgedRow struct {
	Path           string   `parquet:"path,dict"`
	PathBytes      string   `parquet:"path_bytes,optional,bytes,dict"`
	Image          string   `parquet:"image,optional,dict"`
	SHA256         string   `parquet:"sha256,optional,dict"`
	ImageSize      int64    `parquet:"image_size"`
	ArchiveSize    int64    `parquet:"archive_size,optional"`
	Number         int32    `parquet:"number"`
	Variable       string   `parquet:"variable,optional,dict"`
	Type           string   `parquet:"type,optional,dict"`
	Dimensions     []string `parquet:"dimensions,list" parquet-element:",dict"`
	Shape          []int64  `parquet:"shape,list"`
	Record         string   `parquet:"record_dimension,optional,dict"`
	Units          string   `parquet:"units,optional,dict"`
	StandardName   string   `parquet:"standard_name,optional,dict"`
	LongName       string   `parquet:"long_name,optional,dict"`
	Attributes     string   `parquet:"attributes,optional,json,dict"`
	FileAttributes string   `parquet:"file_attributes,optional,json,dict"`
	Calendar       string   `parquet:"calendar,optional,dict"`
	TimeStart      string   `parquet:"time_start,optional,dict"`
	TimeEnd        string   `parquet:"time_end,optional,dict"`
	LatMin         *float64 `parquet:"lat_min"`
	LatMax         *float64 `parquet:"lat_max"`
	LonMin         *float64 `parquet:"lon_min"`
	LonMax         *float64 `parquet:"lon_max"`
	LonCircle      bool     `parquet:"lon_circle"`
	Filters        string   `parquet:"filters,optional,dict"`
	Proved         int64    `parquet:"proved,optional,timestamp(microsecond)"`
	Points         string   `parquet:"points,optional,json,dict"`
	Kind           string   `parquet:"kind,optional,dict"`
	Volume         string   `parquet:"volume,optional,dict"`
	Packed         int64    `parquet:"packed,optional,timestamp(microsecond)"`
	CurrentVolume  string   `parquet:"current_volume,optional,dict"`
}

// judged returns a row for parquet-go.
func judged(r *Row) *judgedRow {
	j := new(judgedRow)
	to, from := reflect.ValueOf(j).Elem(), reflect.ValueOf(r).Elem()
	for i := range to.NumField() {
		if field := from.FieldByName(to.Type().Field(i).Name); field.Type() == to.Field(i).Type() {
			to.Field(i).Set(field)
		}
	}
	if r.Points != nil {
		j.Points = r.Points.text
	}
	return j
}

// TestSchema checks that a catalogue has the columns that parquet-go makes of Row: their names, types and meanings.
func TestSchema(t *testing.T) {
	data := built(t, spillText, fileRows("a.nc", 4))
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	require.True(t, parquet.EqualNodes(f.Schema(), parquet.SchemaOf(judgedRow{})), "%v", f.Schema())
	for i, s := range f.Metadata().RowGroups[0].SortingColumns {
		require.EqualValues(t, sorted[i], s.ColumnIdx)
	}
}

// TestParquetGo checks that a catalogue is read that parquet-go wrote, as versions before 0.1.0 did.
func TestParquetGo(t *testing.T) {
	var want []Row
	var b bytes.Buffer
	w := parquet.NewGenericWriter[judgedRow](&b, parquet.Compression(&parquet.Zstd), parquet.DataPageVersion(1),
		parquet.PageBufferSize(1<<10), parquet.DefaultEncoding(&parquet.Plain), parquet.KeyValueMetadata(formatKey, formatVersion))
	schema := parquet.SchemaOf(judgedRow{})
	for _, name := range []string{"a.nc", "b.nc", "c.nc"} {
		for _, r := range fileRows(name, 1000) {
			want = append(want, r)
			_, err := w.WriteRows([]parquet.Row{schema.Deconstruct(nil, judged(&r))}) // Write panics on nil pointers to numbers in parquet-go 0.32
			require.NoError(t, err)
		}
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Close())
	got, err := read(b.Bytes())
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i := range got {
		require.Equal(t, want[i], got[i])
	}
}
