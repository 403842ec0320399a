package cdlgen

// Largest sizes of a block.
const maxBlock = 1 << 30

// fileSpecials are the special attributes of the file. Those that netCDF-4 keeps for
// itself are read and ignored.
var fileSpecials = map[string]func(*parser, *list) error{
	"_Format": func(p *parser, l *list) error {
		s, err := l.string()
		if err != nil {
			return err
		}
		if _, _, known := Kind(s); !known {
			return errValue("a kind of file, such as classic; found " + quoted(s))
		}
		p.kind = s
		return nil
	},
	"_BlockSize": func(p *parser, l *list) (err error) {
		p.blockSize, err = l.int(1, maxBlock)
		return err
	},
	"_NCProperties":      func(_ *parser, l *list) error { _, err := l.string(); return err },
	"_IsNetcdf4":         func(_ *parser, l *list) error { _, err := l.bool(); return err },
	"_SuperblockVersion": func(_ *parser, l *list) error { _, err := l.int(0, 255); return err },
}

// varSpecials are the special attributes of variables.
var varSpecials = map[string]func(*Storage, *list) error{
	"_Storage": func(s *Storage, l *list) (err error) {
		s.Layout, err = l.oneOf("contiguous", "compact", "chunked")
		return err
	},
	"_ChunkSizes": func(s *Storage, l *list) error {
		s.ChunkSizes = nil
		for _, x := range l.numbers {
			if x.kind != integer || x.i < 1 {
				return errValue("positive integers")
			}
			s.ChunkSizes = append(s.ChunkSizes, x.i)
		}
		if len(l.numbers) == 0 {
			return errValue("positive integers")
		}
		return nil
	},
	"_DeflateLevel": func(s *Storage, l *list) error {
		n, err := l.int(0, 9)
		s.Deflate = int(n)
		return err
	},
	"_Shuffle":    func(s *Storage, l *list) (err error) { s.Shuffle, err = l.bool(); return err },
	"_Fletcher32": func(s *Storage, l *list) (err error) { s.Fletcher32, err = l.bool(); return err },
	"_NoFill":     func(s *Storage, l *list) (err error) { s.NoFill, err = l.bool(); return err },
	"_Filter":     func(s *Storage, l *list) (err error) { s.Filter, err = l.string(); return err },
	"_Codecs":     func(s *Storage, l *list) (err error) { s.Codecs, err = l.string(); return err },
	// Classic files are big-endian.
	"_Endianness": func(_ *Storage, l *list) error { _, err := l.oneOf("little", "big", "native"); return err },
}
