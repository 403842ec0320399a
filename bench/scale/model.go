package main

import (
	"container/heap"
	"math"
	"math/rand/v2"

	"github.com/cdfz-format/cdfz/bench/internal/run"
)

// assumption is a number that was not measured here.
type assumption struct {
	name   string
	value  float64
	unit   string
	reason string
}

var (
	nodes        = &assumption{"nodes", 100, "", "the question"}
	cores        = &assumption{"cores per node", 32, "", "as fast as one of this machine; cdfz -j 1 on each"}
	shardsPer    = &assumption{"shards per core", 10, "", "docs/trees.md: ten shards a job"}
	largeSize    = &assumption{"large file", 1 << 30, "B", "a file of this size or more is a shard of its own, by -large of cdfz-fleet"}
	lustreChange = &assumption{"Lustre: changes", 27000, "1/s", "mdtest creates of Dell HPC Lustre Storage with Omni-Path, white paper, 240 threads, one MDT"}
	lustreLook   = &assumption{"Lustre: lookups", 500000, "1/s", "mdtest stats of the same paper"}
	lustreBytes  = &assumption{"Lustre: bytes", 100e9, "B/s", "read and written together; a guess for a middle-sized system"}
	lustreNet    = &assumption{"network of a node, Lustre", 12.5e9, "B/s", "100 Gbit/s"}
	lustreList   = &assumption{"Lustre: names listed", 100000, "1/s", "by one worker, without looking at the files; a guess"}
	s3Puts       = &assumption{"S3: PUT, POST, LIST", 3500, "1/s", "per partitioned prefix, Amazon's performance guidelines"}
	s3Gets       = &assumption{"S3: GET, HEAD", 5500, "1/s", "per partitioned prefix, the same page"}
	s3Prefixes   = &assumption{"S3: partitioned prefixes", 10, "", "a guess; S3 divides the prefixes of a busy bucket without being asked"}
	s3PutTime    = &assumption{"S3: time of a PUT", 0.1, "s", "a guess"}
	s3GetTime    = &assumption{"S3: time of a GET", 0.05, "s", "a guess, to the first byte"}
	s3Flight     = &assumption{"S3: files at a time per core", 4, "", "cdfz -j 128 on a node of 32 cores"}
	s3Net        = &assumption{"network of a node, S3", 3.125e9, "B/s", "25 Gbit/s"}
	pricePut     = &assumption{"price of 1000 PUT, POST, LIST", 0.005, "$", "S3 Standard, us-east-1, aws.amazon.com/s3/pricing, assumed on 2026-11-27"}
	priceGet     = &assumption{"price of 1000 GET, HEAD", 0.0004, "$", "the same list"}
	priceStore   = &assumption{"price of 1 GB for a month", 0.021, "$", "the same list, above 500 TB; transfer within the region is free there"}
)

func reportAssumptions(r *run.Report) {
	r.Printf("\nAssumed:\n\n")
	t := r.Table("what %s", "value %g", "unit %s", "source or reason %s")
	for _, a := range []*assumption{nodes, cores, shardsPer, largeSize, lustreChange, lustreLook, lustreBytes, lustreNet, lustreList,
		s3Puts, s3Gets, s3Prefixes, s3PutTime, s3GetTime, s3Flight, s3Net, pricePut, priceGet, priceStore} {
		t.Row(a.name, a.value, a.unit, a.reason)
	}
	t.Row("1 PB", "4e+06 files", "", "mean 250 MB, log-normal, standard deviation of the logarithm 1.5")
	t.Row("cost of a file", "linear", "", "on the line through the two nearest measured sizes")
}

// scenario is a tree.
type scenario struct {
	name  string
	files int
	mean  float64 // bytes
	sigma float64 // standard deviation of the logarithm of sizes
}

func scenarios(m *measured) []scenario {
	return []scenario{
		{"10^8 small files", 1e8, m.small().size, 0},
		{"10^6 files of 1 GB", 1e6, 1e9, 0},
		{"1 PB, mixed", 4e6, 250e6, 1.5},
	}
}

// loads is the processor time of slots, in seconds, as a heap of the one that is free first.
type loads []float64

func (l loads) Len() int           { return len(l) }
func (l loads) Less(i, j int) bool { return l[i] < l[j] }
func (l loads) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *loads) Push(x any)        { *l = append(*l, x.(float64)) }
func (l *loads) Pop() any          { panic("internal error: slots do not disappear") }

// draw returns the size of a file.
func (s *scenario) draw(random *rand.Rand) float64 {
	if s.sigma == 0 {
		return s.mean
	}
	return s.mean * math.Exp(s.sigma*random.NormFloat64()-s.sigma*s.sigma/2)
}

// total returns the sum of a cost over all files.
func (s *scenario) total(each func(bytes float64) float64) (sum float64) {
	if s.sigma == 0 {
		return each(s.mean) * float64(s.files)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range s.files {
		sum += each(s.draw(random))
	}
	return sum
}

// schedule draws the sizes of all files, divides the files into shards as cdfz-fleet does, and gives
// the shards in random order to the core that is free first. It returns the seconds until the last
// shard is done, and those if all cores ended at the same time. The draws are the same in every run.
func (s *scenario) schedule(cpu func(bytes float64) float64) (last, even float64) {
	random := rand.New(rand.NewPCG(1, 2))
	slots := int(nodes.value * cores.value)
	shards := make([]float64, int(shardsPer.value)*slots)
	var own []float64
	for range s.files {
		size := s.draw(random)
		c := cpu(size)
		even += c
		if size >= largeSize.value {
			own = append(own, c)
			continue
		}
		shards[random.IntN(len(shards))] += c
	}
	shards = append(shards, own...)
	random.Shuffle(len(shards), func(i, j int) { shards[i], shards[j] = shards[j], shards[i] })
	l := make(loads, slots)
	for _, c := range shards {
		l[0] += c
		last = max(last, l[0])
		heap.Fix(&l, 0)
	}
	return last, even / float64(slots)
}

// limit is a resource and the seconds for which it is busy.
type limit struct {
	name    string
	seconds float64
}

func reportScenarios(r *run.Report, m *measured) {
	r.Printf("\nComputed, in hours. \"Wall\" is the listing and then the longest of the others, which is the bottleneck:\n\n")
	t := r.Table("tree %s", "store %s", "verb %s", "listing %.2f", "cores %.2f", "uneven %.2f", "metadata %.2f", "requests %.2f", "waiting %.2f", "bytes %.2f", "wall %.2f", "bottleneck %s")
	type charge struct {
		tree, verb          string
		puts, gets, price   float64
		originals, archives float64
	}
	var charges []charge
	for _, s := range scenarios(m) {
		n := float64(s.files)
		for _, verb := range verbs {
			each := func(of func(*cost) float64) float64 {
				return s.total(func(bytes float64) float64 { return m.at(verb, bytes, of) })
			}
			last, even := s.schedule(func(bytes float64) float64 { return m.at(verb, bytes, func(c *cost) float64 { return c.cpu }) })

			// Over Lustre. cdfz-fleet looks at each file once more.
			changes, lookups := each(func(c *cost) float64 { return c.changes }), each(func(c *cost) float64 { return c.lookups })+n
			moved := each(func(c *cost) float64 { return c.read + c.written })
			listing := n / lustreList.value
			metadata := max(changes/lustreChange.value, lookups/lustreLook.value)
			bytes := moved / min(lustreBytes.value, nodes.value*lustreNet.value)
			most := longest(limit{"cores", last}, limit{"metadata", metadata}, limit{"bytes", bytes})
			t.Row(s.name, "Lustre", verb, hours(listing), hours(last), last/even, hours(metadata), nil, nil, hours(bytes), hours(listing+most.seconds), most.name)

			// Over S3.
			puts, gets := each(func(c *cost) float64 { return c.puts }), each(func(c *cost) float64 { return c.gets })
			lists := n / 1000 // pages
			listing = lists * s3GetTime.value
			requests := max(puts/(s3Puts.value*s3Prefixes.value), gets/(s3Gets.value*s3Prefixes.value))
			waiting := (puts*s3PutTime.value + gets*s3GetTime.value) / (nodes.value * cores.value * s3Flight.value)
			bytes = each(func(c *cost) float64 { return c.received + c.uploaded }) / (nodes.value * s3Net.value)
			most = longest(limit{"cores", last}, limit{"requests", requests}, limit{"waiting", waiting}, limit{"bytes", bytes})
			t.Row(s.name, "S3", verb, hours(listing), hours(last), last/even, nil, hours(requests), hours(waiting), hours(bytes), hours(listing+most.seconds), most.name)

			ratio := m.large().ratio
			if s.mean == m.small().size {
				ratio = m.small().ratio
			}
			stored := s.total(func(bytes float64) float64 { return bytes }) / 1e9 * priceStore.value
			charges = append(charges, charge{s.name, verb, puts + lists, gets, (puts+lists)/1000*pricePut.value + gets/1000*priceGet.value, stored, stored / ratio})
		}
	}
	r.Printf("\nOver S3, requests and dollars:\n\n")
	t = r.Table("tree %s", "verb %s", "PUT, POST, LIST %.3g", "GET, HEAD %.3g", "requests $ %.0f", "originals $/month %.0f", "archives $/month %.0f")
	for _, c := range charges {
		t.Row(c.tree, c.verb, c.puts, c.gets, c.price, c.originals, c.archives)
	}
}

func hours(seconds float64) float64 { return seconds / 3600 }

// longest returns the limit with the most seconds.
func longest(all ...limit) limit {
	most := all[0]
	for _, l := range all[1:] {
		if l.seconds > most.seconds {
			most = l
		}
	}
	return most
}
