package page

import (
	"io"
	"net/http"
	"strings"

	"github.com/cdfz-format/cdfz/internal/latin"
	"github.com/cdfz-format/cdfz/slab"
)

// maxCharacters bounds the text of a variable that the page shows, in bytes.
const maxCharacters = 64 << 10

// texts is the answer to values for a variable of characters.
type texts struct {
	Type  string   `json:"type"` // text
	Lines []string `json:"lines"`
	Cut   bool     `json:"cut"` // there is more
}

// characters answers with the beginning of a variable of characters, a line for each row
// of the last dimension.
func (h *Handler) characters(w http.ResponseWriter, r *http.Request, f *File, num int) error {
	v := &f.Header().Vars[num]
	width := int64(1)
	if n := len(v.Shape); n > 0 {
		width = v.Shape[n-1]
	}
	out := &texts{Type: "text", Lines: []string{}, Cut: v.Len > maxCharacters}
	b := make([]byte, min(v.Len, maxCharacters))
	if len(b) > 0 {
		// The values of characters are their bytes.
		// The section hides that the values have blocks of another shape than this array.
		array, err := slab.New(v.Type, []int64{int64(len(b))}, io.NewSectionReader(f.Array(num).Values(), 0, int64(len(b))))
		if err == nil {
			err = slab.ReadInto(r.Context(), array, b, slab.Sel{})
		}
		if err != nil {
			return err
		}
	}
	for len(b) > 0 {
		n := min(width, int64(len(b)))
		row := string(b[:n])
		if n < width {
			row = latin.Whole(row)
		}
		out.Lines = append(out.Lines, latin.Text(strings.TrimRight(row, "\x00")))
		b = b[n:]
	}
	return sendJSON(w, out)
}
