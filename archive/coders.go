package archive

import (
	"fmt"
	"sync"

	"github.com/cdfz-format/cdfz/filters"
)

// coderPools keeps coders between calls of Write, by chain: the tables of an
// encoder are megabytes, which small files would spend most of their time on.
// Only chains that options name get here, never those of an archive that is read.
var coderPools sync.Map // chain in text and flags -> *sync.Pool

// poolKey is a chain with the flags that its text leaves out.
func poolKey(c filters.Chain) string {
	key := c.String()
	for _, f := range c {
		key += fmt.Sprintf(" %t", f.Optional)
	}
	return key
}

// takeCoder returns a coder for a chain, new or used. Its output is the same.
func takeCoder(c filters.Chain) (*filters.Coder, error) {
	if p, ok := coderPools.Load(poolKey(c)); ok {
		if k, ok := p.(*sync.Pool).Get().(*filters.Coder); ok {
			return k, nil
		}
	}
	k, err := filters.NewCoder(c)
	if err != nil {
		return nil, fmt.Errorf("archive: chain %s: %w", c, err)
	}
	return k, nil
}

// giveCoder returns a coder of a chain for further use.
func giveCoder(c filters.Chain, k *filters.Coder) {
	p, _ := coderPools.LoadOrStore(poolKey(c), &sync.Pool{})
	p.(*sync.Pool).Put(k)
}
