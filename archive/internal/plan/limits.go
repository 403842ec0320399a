package plan

import (
	"github.com/cdfz-format/cdfz/cdf3"
)

// The budgets of docs/FORMAT.md, "Limits". Together they let a reader open any
// archive of n bytes with at most 64 MiB + 8·n of memory. Part of the format,
// never to change.
const (
	maxHeader = cdf3.MaxHeaderLen
	MaxFirst  = 1 << 21 // block 0 of the rest, unless it is a larger header stored without filters
	MaxPlan   = 1 << 28 // stored

	maxFeatures = 64
	maxPools    = 4096
	MaxChains   = 4096
	MaxFilters  = 4096    // of all chains
	MaxParams   = 1 << 16 // of all filters
	maxCodec    = 4096    // bytes of a codec's JSON
	maxText     = 255     // bytes of any string in plan and manifest except the image's name
	MaxRank     = cdf3.MaxRank
	ranksBase   = 1 << 18 // elements of the shapes and block shapes of all variables and pools
	ranksShare  = 16      // plus the length of the plan divided by this

	MaxUnknown = 32 // members of one object that the format does not name
	maxDepth   = 32 // nesting of values that the format does not name

	MaxLater = 1 << 22 // an entry of a later version

)

// maxRanks returns how many elements the shapes and block shapes of a plan with this text may have.
func maxRanks(text []byte) int { return ranksBase + len(text)/ranksShare }

// SmallImage is the size below which an archive is made in memory, so that it
// can be made again in a smaller layout.
const SmallImage = 8 << 20

// TinyImage is the size up to which the header gets less work: docs/FORMAT.md, "Choices by trial".
const TinyImage = 64 << 10

// liveEvery is the number of small steps after which a loop checks its context.
const liveEvery = 1024
